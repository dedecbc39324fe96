package localapi_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.dev/hermes/runtime/localapi"
	"hermes.dev/hermes/runtime/store"
	"hermes.dev/hermes/test/fakemodel"
	"hermes.dev/hermes/test/pythonhome"
)

// TestBackupRestoreImport over the socket: made while served, listed, refused under a turn, restored, imported into.
func TestBackupRestoreImport(t *testing.T) {
	r := newRig(t)
	first, err := r.client.Complete(ctx(t), say("", "one"))
	must(t, err)
	session := first.Hermes.Session
	made, err := r.client.Backup(ctx(t), "alice", localapi.BackupRequest{})
	must(t, err)
	if made.Store == nil || made.Store.Messages != 2 || made.Trigger != "manual" || made.Bytes == 0 {
		t.Errorf("%+v", made)
	}
	elsewhere, err := r.client.Backup(ctx(t), "alice", localapi.BackupRequest{Directory: t.TempDir(), Secrets: true})
	if err != nil || !elsewhere.Secrets || strings.Contains(elsewhere.Path, "backups") {
		t.Errorf("%+v %v", elsewhere, err)
	}
	list, err := r.client.Backups(ctx(t), "alice")
	if err != nil || len(list) != 1 || list[0].Path != made.Path || list[0].Problem != "" {
		t.Errorf("%+v %v", list, err)
	}
	gate := make(chan struct{})
	r.model.Script(fakemodel.Turn{Text: "slow", Gate: gate})
	turn := make(chan error, 1)
	go func() { _, err := r.client.Complete(context.Background(), say(session, "two")); turn <- err }()
	_, err = r.model.WaitRequests(ctx(t), 2)
	must(t, err)
	_, err = r.client.Restore(ctx(t), "alice", localapi.RestoreRequest{Path: made.Path})
	if e := apiError(t, err); e.Status != 409 || e.Code != "busy" || e.RetryAfter == 0 {
		t.Errorf("under a turn: %+v", e)
	}
	close(gate)
	must(t, <-turn)
	plan, err := r.client.Restore(ctx(t), "alice", localapi.RestoreRequest{Path: made.Path, DryRun: true})
	if err != nil || len(plan.Written) != 1 || len(plan.KeptAside) != 0 || r.roles(session) != "uaua" {
		t.Errorf("dry run %+v %v", plan, err)
	}
	done, err := r.client.Restore(ctx(t), "alice", localapi.RestoreRequest{Path: made.Path})
	if err != nil || len(done.KeptAside) != 1 || r.roles(session) != "ua" {
		t.Errorf("%+v %v, rows %s", done, err, r.roles(session))
	}
	home, copied := t.TempDir(), filepath.Join(t.TempDir(), "copy.db")
	w, want := pythonhome.OpenStore(t, home, 24)
	w.Close(t)
	_, err = store.CopyForeign(ctx(t), filepath.Join(home, "state.db"), copied)
	must(t, err)
	report, err := r.client.Import(ctx(t), "alice", localapi.ImportRequest{Path: copied})
	if err != nil || report.Sessions != want.Sessions || report.Messages != want.Messages {
		t.Errorf("%+v, want %+v: %v", report, want, err)
	}
}

// TestBackupMistakes have one clear error each.
func TestBackupMistakes(t *testing.T) {
	r := newRig(t)
	half := filepath.Join(t.TempDir(), "half")
	must(t, os.WriteFile(half, []byte("no backup"), 0o600))
	missing := filepath.Join(t.TempDir(), "usb")
	for _, c := range []struct {
		what   string
		err    func() error
		status int
		want   string
	}{
		{"relative directory", func() error {
			_, err := r.client.Backup(ctx(t), "alice", localapi.BackupRequest{Directory: "x"})
			return err
		}, 400, "absolute"},
		{"relative backup", func() error {
			_, err := r.client.Restore(ctx(t), "alice", localapi.RestoreRequest{Path: "x"})
			return err
		}, 400, "absolute"},
		{"no such directory", func() error {
			_, err := r.client.Backup(ctx(t), "alice", localapi.BackupRequest{Directory: missing})
			return err
		}, 400, missing + " is not a directory: make it"},
		{"a file as directory", func() error {
			_, err := r.client.Backup(ctx(t), "alice", localapi.BackupRequest{Directory: half})
			return err
		}, 400, "is not a directory: make it"},
		{"below a file", func() error {
			_, err := r.client.Backup(ctx(t), "alice", localapi.BackupRequest{Directory: filepath.Join(half, "x")})
			return err
		}, 400, "is not a directory: make it"},
		{"no such backup", func() error {
			_, err := r.client.Restore(ctx(t), "alice", localapi.RestoreRequest{Path: "/nowhere/x"})
			return err
		}, 404, "no such file"},
		{"no backup", func() error {
			_, err := r.client.Restore(ctx(t), "alice", localapi.RestoreRequest{Path: half})
			return err
		}, 422, "use another one"},
		{"no profile", func() error { _, err := r.client.Backups(ctx(t), "nobody"); return err }, 404, "does not serve"},
		{"relative import", func() error {
			_, err := r.client.Import(ctx(t), "alice", localapi.ImportRequest{Path: "x"})
			return err
		}, 400, "absolute"},
	} {
		if e := apiError(t, c.err()); e.Status != c.status || !strings.Contains(e.Message, c.want) {
			t.Errorf("%s: %d %s", c.what, e.Status, e.Message)
		}
	}
	if _, err := os.Lstat(missing); !os.IsNotExist(err) {
		t.Errorf("the missing directory was made: %v", err)
	}
}
