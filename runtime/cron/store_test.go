package cron

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReaderToleratesC102(t *testing.T) {
	record := `{"id":"abc","name":"n","prompt":"p","state":"scheduled","enabled":true,"schedule":{"kind":"interval","minutes":5,"display":"every 5m"}}`
	for name, c := range map[string]struct{ content, ids string }{
		"our own form":       {`{"jobs":[` + record + `]}`, "abc"},
		"byte order mark":    {"\xef\xbb\xbf" + `{"jobs":[` + record + `]}`, "abc"},
		"control characters": {strings.Replace(`{"jobs":[`+record+`]}`, `"p"`, "\"a\nb\t\"", 1), "abc"},
		"bare list":          {`[` + record + `]`, "abc"},
		"id-keyed":           {`{"k1":{"name":"x","state":"scheduled"},"k2":{"id":"inline","state":"scheduled"},"updated_at":"x"}`, "k1 inline"},
		"id-keyed jobs":      {`{"jobs":{"k1":{"name":"x"}}}`, "k1"},
		"bad field":          {`{"jobs":[{"id":"b1","next_run_at":"yesterday","failure_streak":"many"}]}`, "b1"},
		"bad records":        {`{"jobs":[1,{"id":"../up"},{"id":"ok"},{"id":"ok","name":"twice"}]}`, "ok"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write(t, c.content)
			jobs, err := f.Jobs()
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, job := range jobs {
				ids = append(ids, job.ID)
			}
			if got := strings.Join(ids, " "); got != c.ids {
				t.Errorf("got %q, want %q", got, c.ids)
			}
			created := f.create(t, NewJob{Schedule: "30m"})
			again, err := f.other(t, testOwner(2)).Jobs()
			if err != nil || len(again) != len(jobs)+1 || again[len(again)-1].ID != created.ID {
				t.Errorf("after a rewrite: %d jobs, %v; want %d", len(again), err, len(jobs)+1)
			}
			if content, _ := os.ReadFile(f.inDir(jobsFile)); strings.Contains(c.content, "../up") && !strings.Contains(string(content), "../up") {
				t.Error("a record that is no job was thrown away")
			}
		})
	}
}

func TestReaderRefusesC102(t *testing.T) {
	for _, content := range []string{``, `7`, `"x"`, `{"jobs":7}`, `{"jobs":[`, `{"a":1}`, `null`} {
		f := newFixture(t)
		f.write(t, content)
		if _, err := f.Jobs(); err == nil {
			t.Errorf("%q is read", content)
		}
		if _, err := f.Create(t.Context(), NewJob{Prompt: "p", Schedule: "30m"}); err == nil {
			t.Errorf("%q is overwritten", content)
		}
		if got, _ := os.ReadFile(f.inDir(jobsFile)); string(got) != content {
			t.Errorf("%q became %q", content, got)
		}
	}
}

func FuzzSplitFile(f *testing.F) {
	for _, content := range []string{`{"jobs":[{"id":"a"}]}`, `[{}]`, `{"k":{"id":"x"}}`, "\xef\xbb\xbf[]", "{\"jobs\":[{\"name\":\"a\nb\"}]}"} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := splitFile(content)
		if err != nil {
			return
		}
		var c jobCache
		c.reset(file, nil)
		records, _, err := c.stage(&tx{cache: &c})
		if err != nil {
			t.Fatal(err)
		}
		again, err := splitFile(encodeFile(records, testStart))
		if err != nil || len(again.records) != len(records) {
			t.Fatalf("what was written is not read back: %v", err)
		}
	})
}

func TestFileFormC101C103(t *testing.T) {
	f := newFixture(t)
	f.create(t, NewJob{Prompt: "grüße <alle> 東京", Schedule: "0 9 * * *", Name: "é"})
	content, err := os.ReadFile(filepath.Join(f.home, "cron", "jobs.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"grüße <alle> 東京"`, "\n      \"id\": ", `"updated_at": "2026-11-29T12:00:00+00:00"`, `"kind": "cron"`} {
		if !strings.Contains(string(content), want) {
			t.Errorf("%s is missing in\n%s", want, content)
		}
	}
	for path, mode := range map[string]os.FileMode{"cron": 0o700, "cron/jobs.json": 0o600} {
		if info, err := os.Stat(filepath.Join(f.home, path)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v; want %o", path, info.Mode(), err, mode)
		}
	}
	entries, err := os.ReadDir(f.Dir())
	if err != nil || len(entries) != 2 { // jobs.json and the lock
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestUnknownFieldsAreKeptC106(t *testing.T) {
	f := newFixture(t)
	f.write(t, `{"jobs":[{"id":"abc","state":"scheduled","enabled":true,"from_the_future":{"a":[1,2]},"schedule":{"kind":"interval","minutes":5}}]}`)
	if _, err := f.Edit(t.Context(), "abc", Patch{Name: new("renamed"), Prompt: new("p")}); err != nil {
		t.Fatal(err)
	}
	content, _ := os.ReadFile(f.inDir(jobsFile))
	if !strings.Contains(strings.Join(strings.Fields(string(content)), ""), `"from_the_future":{"a":[1,2]}`) {
		t.Errorf("lost in\n%s", content)
	}
}

// TestLostUpdateC105 lets a writer that knows no lock get in while a change is being saved.
func TestLostUpdateC105(t *testing.T) {
	f := newFixture(t)
	first := f.create(t, NewJob{Schedule: "30m", Name: "first"})
	doomed := f.create(t, NewJob{Schedule: "30m", Name: "doomed"})
	foreign := []byte(`{"jobs":[{"id":"foreign","state":"scheduled","enabled":true},` + `{"id":"` + doomed.ID + `","state":"scheduled"}]}`)
	rounds := 0
	err := f.update(t.Context(), func(x *tx) error {
		if rounds++; rounds == 1 {
			if err := os.WriteFile(f.inDir(jobsFile), foreign, 0o600); err != nil {
				return err
			}
		}
		x.remove(doomed.ID)
		x.put(first)
		return nil
	})
	if err != nil || rounds != 2 {
		t.Fatalf("%v after %d rounds", err, rounds)
	}
	jobs, _ := f.Jobs()
	var ids []string
	for _, job := range jobs {
		ids = append(ids, job.ID)
	}
	if diff := cmp.Diff([]string{"foreign", first.ID}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestManyWritersLoseNothingC105(t *testing.T) {
	f := newFixture(t)
	var wait sync.WaitGroup
	for i := range 4 {
		s := f.other(t, testOwner(10+i))
		s.options.LockPatience = 20 * time.Second
		wait.Go(func() {
			for n := range 10 {
				if _, err := s.Create(context.Background(), NewJob{Prompt: fmt.Sprint(i, n), Schedule: "30m"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if jobs, err := f.Jobs(); err != nil || len(jobs) != 40 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

func TestWedgedLockDegradesC104(t *testing.T) {
	f := newFixture(t)
	f.create(t, NewJob{Schedule: "30m"})
	release, err := fileLock(t.Context(), f.inDir(".jobs.lock"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	f.create(t, NewJob{Schedule: "30m"})
	if jobs, err := f.Jobs(); err != nil || len(jobs) != 2 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}

func TestMissingHomeIsNotMadeG113(t *testing.T) {
	f := newFixture(t)
	if err := os.RemoveAll(f.home); err != nil {
		t.Fatal(err)
	}
	if jobs, err := f.Jobs(); err != nil || len(jobs) != 0 {
		t.Errorf("%v, %v", jobs, err)
	}
	if _, err := f.Create(t.Context(), NewJob{Prompt: "p", Schedule: "30m"}); err == nil {
		t.Error("a job is created in a home that is gone")
	}
	if _, err := os.Stat(f.home); !errors.Is(err, os.ErrNotExist) {
		t.Error("the home came back")
	}
}

func TestOutputRetentionC113(t *testing.T) {
	f := newFixture(t)
	f.settings.OutputRetention = 3
	for i := range 5 {
		if _, err := f.WriteOutput("job1", testStart.Add(time.Duration(i/2)*time.Second), fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := f.Outputs("job1")
	if err != nil || len(paths) != 3 {
		t.Fatalf("%v, %v", paths, err)
	}
	if filepath.Base(paths[0]) != "2026-11-29_12-00-02.md" || filepath.Base(paths[1]) != "2026-11-29_12-00-01_2.md" {
		t.Errorf("kept %v", paths)
	}
	if info, err := os.Stat(paths[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := f.WriteOutput("../up", testStart, ""); err == nil {
		t.Error("an id that climbs is accepted")
	}
}
