package cron

import (
	"bytes"
	"container/heap"
	"fmt"
	"slices"
	"time"
)

// entry is a job with its text in the file and its place in the index.
type entry struct {
	job  Job
	raw  []byte
	wake time.Time
	pos  int
}

// jobCache is the job file as last read or written, indexed by when a tick must look at a job.
type jobCache struct {
	loaded   bool
	repaired bool // what is on disk differs from what we would write; the next change rewrites it
	stamp    stamp
	entries  map[string]*entry
	order    []string
	opaque   [][]byte // records that are no jobs; kept as they are, never run
	index    wakeHeap
	woken    wakeSettings // what the index was made with
}

// reset replaces the content. Records whose text did not change are not decoded again, so that a change of one job among
// many by another process costs a comparison for the others. It returns what was repaired.
func (c *jobCache) reset(file rawFile, settings func() wakeSettings) []string {
	old := *c
	*c = jobCache{loaded: true, repaired: file.repaired, entries: make(map[string]*entry, len(file.records)), woken: old.woken}
	if settings != nil {
		c.woken = settings()
	}
	notes := file.notes
	cursor := 0
	for i, raw := range file.records {
		e, at := old.sameText(raw, cursor)
		cursor = at + 1
		if e != nil && c.entries[e.job.ID] == nil {
			c.insert(e, old.woken != c.woken)
			continue
		}
		key := ""
		if i < len(file.keys) {
			key = file.keys[i]
		}
		job, what, err := decodeJob(raw, key)
		if err == nil && c.entries[job.ID] != nil {
			err = fmt.Errorf("id %s is used twice: the first record counts", job.ID)
		}
		if err != nil {
			c.opaque = append(c.opaque, slices.Clone(raw))
			notes = append(notes, fmt.Sprintf("record %d is kept but never run: %v", i+1, err))
			continue
		}
		e = &entry{job: job, raw: slices.Clone(raw)}
		for _, note := range what {
			notes = append(notes, fmt.Sprintf("job %s: %s", job.ID, note))
		}
		if len(what) > 0 {
			c.repaired, e.raw = true, nil
		}
		c.insert(e, true)
	}
	heap.Init(&c.index)
	return notes
}

// sameText looks for a record of the same text at its old place or, when one before it was removed, at the next.
func (c *jobCache) sameText(raw []byte, cursor int) (*entry, int) {
	for at := cursor; at < min(cursor+2, len(c.order)); at++ {
		if e := c.entries[c.order[at]]; e != nil && bytes.Equal(e.raw, raw) {
			return e, at
		}
	}
	return nil, cursor
}

func (c *jobCache) insert(e *entry, stale bool) {
	if stale {
		e.wake = wakeAt(e.job, c.woken)
	}
	e.pos = len(c.index)
	c.index = append(c.index, e)
	c.entries[e.job.ID] = e
	c.order = append(c.order, e.job.ID)
}

// stage returns the records of the file after t, and the new texts by id.
func (c *jobCache) stage(t *tx) (records [][]byte, texts map[string][]byte, err error) {
	texts = make(map[string][]byte, len(t.changed))
	text := func(id string, e *entry) ([]byte, error) {
		job, changed := t.changed[id]
		if !changed && e.raw != nil {
			return e.raw, nil
		}
		if !changed {
			job = e.job
		}
		raw, err := encodeJob(job)
		texts[id] = raw
		return raw, err
	}
	records = make([][]byte, 0, len(c.order)+len(t.added)+len(c.opaque))
	for _, id := range c.order {
		if t.removed[id] {
			continue
		}
		raw, err := text(id, c.entries[id])
		if err != nil {
			return nil, nil, err
		}
		records = append(records, raw)
	}
	for _, id := range t.added {
		if t.removed[id] {
			continue
		}
		raw, err := text(id, nil)
		if err != nil {
			return nil, nil, err
		}
		records = append(records, raw)
	}
	return append(records, c.opaque...), texts, nil
}

// apply makes the cache what was just saved.
func (c *jobCache) apply(t *tx, texts map[string][]byte, settings wakeSettings) {
	c.repaired = false
	for id := range t.removed {
		if e := c.entries[id]; e != nil {
			heap.Remove(&c.index, e.pos)
			delete(c.entries, id)
		}
	}
	if len(t.removed) > 0 {
		c.order = slices.DeleteFunc(c.order, func(id string) bool { return t.removed[id] })
	}
	for id, raw := range texts {
		e := c.entries[id]
		if e == nil {
			continue
		}
		e.raw = raw
		if job, ok := t.changed[id]; ok {
			e.job, e.wake = job, wakeAt(job, settings)
			heap.Fix(&c.index, e.pos)
		}
	}
	for _, id := range t.added {
		job, ok := t.changed[id]
		if !ok {
			continue
		}
		e := &entry{job: job, raw: texts[id], wake: wakeAt(job, settings)}
		c.entries[id] = e
		c.order = append(c.order, id)
		heap.Push(&c.index, e)
	}
}

// due returns the jobs that a tick at now must look at. It costs as many steps as there are such jobs.
func (c *jobCache) due(now time.Time, settings wakeSettings) []string {
	if settings != c.woken {
		c.woken = settings
		for _, e := range c.index {
			e.wake = wakeAt(e.job, settings)
		}
		heap.Init(&c.index)
	}
	var ids []string
	pending := []int{0}
	for len(pending) > 0 {
		i := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		if i >= len(c.index) || c.index[i].wake.After(now) {
			continue // and so is everything below it
		}
		ids = append(ids, c.index[i].job.ID)
		pending = append(pending, 2*i+1, 2*i+2)
	}
	return ids
}

// wakeHeap orders entries by when they must be looked at.
type wakeHeap []*entry

func (h wakeHeap) Len() int           { return len(h) }
func (h wakeHeap) Less(i, j int) bool { return h[i].wake.Before(h[j].wake) }
func (h wakeHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}
func (h *wakeHeap) Push(x any) {
	e := x.(*entry)
	e.pos = len(*h)
	*h = append(*h, e)
}
func (h *wakeHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	*h = old[:len(old)-1]
	return e
}
