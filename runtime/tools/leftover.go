package tools

// EndLeftovers ends the background processes of earlier runs that outlived their gateway: one that cleared its
// environment carries no sign but the record that says how it began. It is cheap, and done once.
//
// Implements guarantee G9 for a gateway that was killed.
func (p *Processes) EndLeftovers() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.loaded {
		return
	}
	p.load()
	if len(p.list) == 0 {
		return
	}
	if err := p.save(); err != nil {
		p.o.Log.Error(err, "what ran in the background could not be recorded")
	}
}

// leftover reports whether a recorded process, of which the one that has its number now was born as birth says, is to be
// ended: it is that very process, and the gateway that would end it is gone. ownerBirth is of what has the gateway's
// number now; both are empty when nothing has.
func (i ProcessInfo) leftover(birth, ownerBirth string) bool {
	return i.PID > 1 && i.Birth != "" && i.Birth == birth && i.OwnerBirth != "" && i.OwnerBirth != ownerBirth
}

// endLeftover ends what is left of a recorded process, and reports whether there was anything.
func (p *Processes) endLeftover(i ProcessInfo) bool {
	if !i.leftover(birthOf(i.PID), birthOf(i.Owner)) {
		return false
	}
	killed := endFamily(i.PID)
	p.o.Log.Info("ended a background process that had outlived its gateway", "process", i.ID, "pid", i.PID, "ended", killed)
	return killed > 0
}
