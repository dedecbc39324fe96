package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"hermes.dev/hermes/runtime/host"
	"hermes.dev/hermes/runtime/localapi"
)

// talkers is how many people talk at once.
const talkers = 8

// speaker sends messages to a gateway over its socket.
type speaker struct{ http *http.Client }

func (s *stack) speaker(ctx context.Context) (speaker, error) {
	id, err := host.NewClient(s.home()).Identify(ctx)
	if err != nil {
		return speaker{}, err
	}
	return speaker{&http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: talkers,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", id.APISocket)
		},
	}}}, nil
}

// say runs one turn of a profile. An empty session begins one; the session's id is returned.
func (s speaker) say(ctx context.Context, profile, session, text string) (string, error) {
	body, err := json.Marshal(map[string]any{
		"model": profile, "messages": []map[string]string{{"role": "user", "content": text}},
		"hermes": map[string]string{"session": session},
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://gateway/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	res, err := s.http.Do(req)
	if err != nil {
		return "", err
	}
	answer, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("turn of %s: %s: %s", profile, res.Status, answer)
	}
	return res.Header.Get(localapi.SessionHeader), err
}

// messageEach sends every profile its first message, which opens its store, and weighs the gateway.
func messageEach(ctx context.Context, s *stack) ([]figure, error) {
	p, err := s.pids()
	if err != nil {
		return nil, err
	}
	api, err := s.speaker(ctx)
	if err != nil {
		return nil, err
	}
	before, err := memoryOf(p.gateway)
	if err != nil {
		return nil, err
	}
	err = inParallel(s.e.profiles, func(i int) error {
		_, err := api.say(ctx, profileName(i+1), "", "Hello!")
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := letPass(ctx, s.e.pause(6*time.Second)); err != nil {
		return nil, err
	}
	after, err := memoryOf(p.gateway)
	if err != nil {
		return nil, err
	}
	per := float64(after.anonymous-before.anonymous) / float64(s.e.profiles) / 1024
	return []figure{{name: "gateway memory per profile on top while its store is open", unit: "KiB", value: per, target: 512}}, nil
}

// turnRate measures turns with the demo model over the local API, every row stored.
func turnRate(ctx context.Context, s *stack) ([]figure, error) {
	p, err := s.pids()
	if err != nil {
		return nil, err
	}
	api, err := s.speaker(ctx)
	if err != nil {
		return nil, err
	}
	turns := 4000
	if s.e.quick {
		turns = 800
	}
	cpuBefore, err := cpuOf(p.gateway)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var latencies []time.Duration
	start := time.Now()
	err = inParallel(turns, func(i int) error {
		begin := time.Now()
		_, err := api.say(ctx, profileName(i%s.e.profiles%64+1), "", "Hello again!")
		mu.Lock()
		defer mu.Unlock()
		latencies = append(latencies, time.Since(begin))
		return err
	})
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	cpuAfter, err := cpuOf(p.gateway)
	if err != nil {
		return nil, err
	}
	slices.Sort(latencies)
	return []figure{
		{name: "turns over the local API, demo model, 8 at once", unit: "/s", value: float64(turns) / took.Seconds(), target: 2000, atLeast: true},
		{name: "  99th percentile of a turn", unit: "ms", value: millis(latencies[len(latencies)*99/100]), target: 20},
		shown("  gateway processor time per turn", "ms", millis(cpuAfter-cpuBefore)/float64(turns)),
	}, nil
}

// inParallel calls do for 0 to n-1 from a few goroutines and returns the errors.
func inParallel(n int, do func(i int) error) error {
	work := make(chan int)
	var wg sync.WaitGroup
	errs := make([]error, talkers)
	for w := range talkers {
		wg.Go(func() {
			for i := range work {
				if errs[w] == nil {
					errs[w] = do(i)
				}
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	wg.Wait()
	return errors.Join(errs...)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
