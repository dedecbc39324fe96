package tools

const (
	// rmRecursive is a recursive rm up to one of its operands.
	rmRecursive = `\brm\s+([^\s;&|]+\s+)*(-\S*r\S*|--recursive)\s+([^\s;&|]+\s+)*`
	wordEnd     = `(\s|$|[;&|)])`
	shells      = `(\S*/)?(ba|z|da|k|a|fi)?sh`
)

// dangerTable pairs patterns with what they mean. A pattern meets a command in three readings (see Dangerous), in which
// statements stand in one line, HOME is ~ and the agent's home is hermes_home.
func dangerTable() [][2]string {
	return [][2]string{
		// Deleting.
		{rmRecursive + `((/|~|\.\.?)[/.]*\*?|\*)` + wordEnd, "deletes recursively from a root, home or working directory"},
		{rmRecursive + `/+(bin|boot|dev|etc|home|lib\w*|nix|opt|proc|root|run|sbin|srv|sys|usr|var|users|library|system)/*\*?` + wordEnd, "deletes a system directory"},
		{rmRecursive + `(~|hermes_home)/+(\.\w+|\.hermes\S*|memories|skills|sessions)/*\*?` + wordEnd, "deletes what the person or the agent keeps at home"},
		{`\brm\s.*--no-preserve-root`, "deletes the root directory"},
		{`\bfind\s.*\s-(delete|(exec|execdir|ok|okdir)\s+(\S*/)?(rm|shred|unlink)\b)`, "deletes by a search"},
		{`\bxargs\s.*\brm\s+(\S+\s+)*-\S*r`, "deletes what another program lists"},
		{`\b(shutil\.rmtree|rimraf|fs\.rm(dir)?sync|remove_dir_all|file::path.*rmtree)`, "deletes recursively from a program"},
		{`\bshred\b|\bsrm\b|\btruncate\s+(\S+\s+)*(-s|--size)\s*=?0\b`, "destroys data"},
		{`\bmv\s.*\s/dev/null\b`, "destroys data"},
		{`\bgit\s.*\bclean\b.*\s-\S*f`, "deletes files that are not in the repository"},
		{`\bgit\s.*\breset\b.*\s--hard\b|\bgit\s.*\bcheckout\s+(\S+\s+)*(--\s+)?\.(\s|$)|\bgit\s.*\bstash\s+(drop|clear)\b`, "throws changes away"},
		{`\bgit\s.*\bpush\b.*(\s--force\b|\s--force-with-lease\b|\s-\w*f\w*\b|\s--mirror\b|\s--delete\b|\s\+\S)`, "overwrites a remote branch"},
		{`\b(drop\s+(table|database|schema)|truncate\s+table)\b|\bdelete\s+from\s+[\w."]+\s*(;|$)`, "deletes from a database"},
		{`\b(docker|podman)\s.*\b(system|volume|image|container)\s+prune\b|\bterraform\s.*\bdestroy\b|\bkubectl\s.*\bdelete\b.*(\s--all\b|\b(ns|namespaces?)\b)`, "deletes resources in bulk"},
		// Disks and machine.
		{`\b(mkfs(\.\w+)?|wipefs|mkswap|fdisk|sfdisk|sgdisk|parted|cryptsetup|blkdiscard|diskutil\s+erase\w*)\b`, "formats or repartitions a disk"},
		{`\bdd\b.*\bof=/dev/`, "writes to a device"},
		{`(>|\btee\s(-\S+\s+)*)\s*/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk|mem|kmem|loop)`, "writes to a device"},
		{`\bcp\s.*\s/dev/(sd|hd|vd|xvd|nvme|mmcblk|disk)`, "writes to a device"},
		{`\b(shutdown|reboot|poweroff|halt)\b|\b(tel)?init\s+[06]\b|\bsystemctl\s+(\S+\s+)*(poweroff|reboot|halt|kexec)|>\s*/proc/sysrq-trigger`, "stops the machine"},
		{`\bsystemctl\s+(\S+\s+)*(stop|disable|mask)\b|\blaunchctl\s+(unload|bootout|remove)\b`, "stops a service"},
		{`\b(insmod|modprobe|rmmod|sysctl\s+-w|kexec)\b|\b(iptables|ip6tables|nft)\s.*(-f\b|--flush\b|\bflush\b)|\bufw\s+disable\b|\bsetenforce\s+0\b`, "changes the kernel or the firewall"},
		{`(\S+)\s*\(\)\s*\{[^}]*\|[^}]*&[^}]*\}`, "looks like a fork bomb"},
		{`\bkill(all5)?\s+(-\S+\s+)*-1(\s|$)|\bkillall\s+(\S+\s+)*-u\b|\bpkill\s+(\S+\s+)*-u\b`, "ends every process of the user"},
		{`\b(pkill|killall)\b.*\bhermes|\bkill\b.*gateway\.pid|\bhermes\s+(\S+\s+)*(down|gateway\s+(stop|restart|migrate)|delete)\b`, "stops the agent itself"},
		// Running what nobody has read.
		{`\b(curl|wget|fetch|aria2c)\b[^;]*\|\s*(sudo\s+)?(env\s+)?(\S*/)?(ba|z|da|k|a|fi)?sh\b`, "runs a download as a program"},
		{`\b(curl|wget|fetch)\b[^;]*\|\s*(\S*/)?(sudo\s+)?(python|perl|ruby|node|php|lua|osascript)`, "runs a download as a program"},
		{`\b((ba|z|da|k|a)?sh|source|eval|exec|python[\d.]*|perl|ruby|node|\.)\s.*(<\(|\$\(|` + "`" + `)\s*(curl|wget|fetch)\b`, "runs a download as a program"},
		{`\b(curl|wget)\b[^|]*(;|&&|\|\||&)\s*(sudo\s+)?((ba|z|da|k|a)?sh|source|\.)\s+[^-\s]`, "runs a download as a program"},
		{`\b(curl|wget)\b.*\bchmod\s+\S*[+7]\S*x?\s`, "runs a download as a program"},
		{`\b(base64|base32|uudecode|xxd|openssl\s+enc|gunzip|gzip\s+-\S*d\S*|zcat|rev|tr)\b[^;]*\|\s*(sudo\s+)?` + shells + `\b`, "runs decoded data as a program"},
		{`\b(base64|b64decode|frombase64|unhexlify|fromhex|atob)\b.*\b(exec|eval|system|popen|subprocess|child_process)\b|\b(exec|eval|system|popen|subprocess|child_process)\b.*\b(base64|b64decode|frombase64|unhexlify|fromhex|atob)\b`, "runs decoded data as a program"},
		{`/dev/(tcp|udp)/|\b(nc|ncat|netcat|socat)\b.*(\s-\w*[ec]\w*\s|exec:|system:)`, "opens a shell to the network"},
		{`\bgit\s.*(-c|--config-env)\s*=?\s*(alias\.[^\s=]+=\s*!|core\.(sshcommand|pager|editor|fsmonitor|hookspath|gitproxy|askpass)=|(diff\.external|credential\.helper|protocol\.ext\.allow|uploadpack\.\S+)=)`, "runs a program by way of a git setting"},
		{`\bgit\s.*\bconfig\s.*(alias\.\S+\s+!|core\.(sshcommand|hookspath|fsmonitor))`, "runs a program by way of a git setting"},
		{`\b(ld_preload|ld_library_path|dyld_insert_libraries|bash_env|prompt_command|perl5opt|pythonstartup|node_options|git_ssh_command|git_external_diff)=`, "makes other programs run code"},
		// Rights and secrets.
		{`\b(chmod|chown|chgrp)\s+(\S+\s+)*(-\S*r\S*|--recursive)\s+(\S+\s+)*(/|~|\.\.?)/*(\s|$|\*)`, "changes permissions from a root or home directory down"},
		{`\bchmod\s+(-\S+\s+)*([ugo]*a?\+\S*s|[0-7]?[2-7][0-7]{3})\b`, "sets a set-user-ID bit"},
		{`\bchmod\s+(-\S+\s+)*(0?777|a\+\S*w|o\+\S*w|\+\S*w\S*o)\b`, "lets everybody write"},
		{`\bsetcap\b|\b(useradd|userdel|usermod|groupadd|passwd|chpasswd|adduser|deluser|dscl)\b`, "changes users or rights"},
		{`(^|[;&|(\s/` + "`" + `])(sudo|doas|pkexec|su|runas|run0)(\s|$)`, "asks for more rights"},
		{`\b(docker|podman|nerdctl)\s.*(--privileged|(-v|--volume|--mount)\s*=?\s*\S*(/:|source=/,|/var/run/docker\.sock)|--pid[= ]host)`, "reaches the machine through a container"},
		{`\b(nsenter|unshare|chroot|mount|umount)\s`, "leaves the agent's own view of the machine"},
		{`(>|\btee\s(-\S+\s+)*|\b(cp|mv|install|ln|sed\s+(\S+\s+)*-i\S*|rsync|scp)\s.*\s)\s*/+(private/)?(etc|boot|usr|bin|sbin|lib\w*|system|library|opt|var/spool/cron)/`, "writes to a system directory"},
		{`(>|\btee\s(-\S+\s+)*|\b(cp|mv|ln|install|sed\s+(\S+\s+)*-i\S*)\s.*)\s*\S*(\.bashrc|\.bash_profile|\.zshrc|\.zshenv|\.profile|\.zprofile|\.ssh/\S*|\.gitconfig|\.config/(autostart|systemd|fish)\S*|launchagents\S*)`, "changes what runs when somebody logs in"},
		{`authorized_keys|\bvisudo\b|/etc/(passwd|shadow|sudoers|gshadow|master\.passwd)|\bid_(rsa|ed25519|ecdsa|dsa)\b`, "touches who may log in"},
		{`\bcrontab\s+(\S+\s+)*(-r\b|-\s*($|<)|[^-\s]\S*$)|\|\s*crontab\b`, "changes the user's crontab"},
		{`\b(auth\.json|mcp-tokens|approvals\.json)\b|\bstate\.db|hermes_home\}?/\.env|/\.env\b|\.aws/credentials|\.kube/config|\.docker/config\.json|\.netrc\b|/proc/\w+/environ`, "touches stored secrets or the agent's own store"},
		{`169\.254\.169\.254|metadata\.google\.internal|100\.100\.100\.200`, "asks the cloud provider for credentials"},
		{`\bhistory\s+-c\b|\bunset\s+histfile\b`, "hides what was done"},
	}
}
