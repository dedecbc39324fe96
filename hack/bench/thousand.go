package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"hermes.dev/hermes/api/v1alpha1"
)

// thousandProfiles declares many profiles at once and follows the system until it rests, then through what
// must cost nothing: resting, looking again, waiting for something broken, and starting again.
func thousandProfiles(ctx context.Context, e *env) (figures []figure, err error) {
	s, err := e.up(ctx)
	defer func() { err = errors.Join(err, s.down()) }()
	if err != nil {
		return nil, err
	}
	steps := []func(context.Context, *stack) ([]figure, error){
		applyAll, resting, lookAgain, waitingOnBroken, messageEach, turnRate, gatewayStart,
	}
	for _, step := range steps {
		f, err := step(ctx, s)
		figures = append(figures, f...)
		if err != nil {
			return figures, err
		}
	}
	return figures, nil
}

// applyAll measures from the first declaration to the last profile Ready.
func applyAll(ctx context.Context, s *stack) ([]figure, error) {
	n := s.e.profiles
	path, err := s.writeProfiles(1, n)
	if err != nil {
		return nil, err
	}
	p, err := s.pids()
	if err != nil {
		return nil, err
	}
	gatewayBefore, err1 := memoryOf(p.gateway)
	cpuBefore, err2 := p.cpu()
	before, err3 := s.requests(ctx)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	start := time.Now()
	applied := make(chan error, 1)
	go func() {
		_, err := s.hermes(ctx, "apply", "-f", path)
		applied <- err
	}()
	err = errors.Join(s.awaitReady(ctx, n, isReady), <-applied)
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	cpuAfter, err1 := p.cpu()
	after, err2 := s.requests(ctx)
	server, err3 := memoryOf(p.apiserver)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	made := after.since(before)
	fmt.Fprintf(os.Stderr, "  requests: %s\n", made.most(0.02))
	total := cpuAfter.apiserver + cpuAfter.operator + cpuAfter.gateway - cpuBefore.apiserver - cpuBefore.operator - cpuBefore.gateway
	perProfile := float64(n) / 1000
	figures := []figure{
		{name: fmt.Sprintf("%d profiles: apply to all Ready", n), unit: "s", value: took.Seconds(), target: 30 * perProfile},
		{name: "  processor time, all processes", unit: "s", value: total.Seconds(), target: 50 * perProfile},
		shown("  processor time, control plane", "s", (cpuAfter.apiserver - cpuBefore.apiserver).Seconds()),
		shown("  processor time, operator", "s", (cpuAfter.operator - cpuBefore.operator).Seconds()),
		shown("  processor time, gateway", "s", (cpuAfter.gateway - cpuBefore.gateway).Seconds()),
		shown("  writes per profile", "", made.writes()/float64(n)),
		shown("  control plane memory right after", "MB", megabytes(server.total)),
	}
	if err := letPass(ctx, s.e.pause(30*time.Second)); err != nil {
		return figures, err
	}
	gatewayAfter, err := memoryOf(p.gateway)
	if err != nil {
		return figures, err
	}
	idle := float64(gatewayAfter.anonymous-gatewayBefore.anonymous) / float64(n) / 1024
	return append(figures, figure{name: "gateway memory per idle profile, store closed", unit: "KiB", value: idle, target: 256}), nil
}

// resting counts the writes of a settled system.
func resting(ctx context.Context, s *stack) ([]figure, error) {
	d := s.e.pause(60 * time.Second)
	n, err := s.writesDuring(ctx, d)
	return []figure{{name: fmt.Sprintf("writes of a settled system in %v", d), value: n}}, err
}

// lookAgain starts the operator and the control plane again: every object is looked at once, the gateway is adopted.
func lookAgain(ctx context.Context, s *stack) ([]figure, error) {
	old, err := s.pids()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.down("--keep-gateways"), s.start(ctx), s.connect()); err != nil {
		return nil, err
	}
	if err := s.awaitReady(ctx, s.e.profiles, isReady); err != nil {
		return nil, err
	}
	if err := letPass(ctx, s.e.pause(30*time.Second)); err != nil {
		return nil, err
	}
	now, err := s.pids()
	if err != nil {
		return nil, err
	}
	if now.gateway != old.gateway {
		return nil, errors.New("the gateway was not adopted by the new operator")
	}
	r, err := s.requests(ctx) // counted from the start of the new control plane
	if err != nil {
		return nil, err
	}
	n := r["APPLY profiles"] + r["APPLY profiles/status"] + r["PATCH profiles"] + r["APPLY secrets"] + r["POST secrets"] + r["POST events"]
	return []figure{{name: fmt.Sprintf("writes about %d profiles looked at again", s.e.profiles), value: n}}, nil
}

// waitingOnBroken counts the writes while a profile waits for a Secret that nobody makes.
func waitingOnBroken(ctx context.Context, s *stack) ([]figure, error) {
	p := &v1alpha1.Profile{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "broken"}}
	p.Spec.GatewayRef.Name = "default"
	p.Spec.Model.Provider, p.Spec.Model.Name = "openai", "gpt"
	p.Spec.Model.Credentials = []v1alpha1.ModelCredential{{SecretKeyRef: v1alpha1.SecretKeyRef{Name: "nobody-makes-this", Key: "API_KEY"}}}
	if err := s.client.Create(ctx, p); err != nil {
		return nil, err
	}
	said := func(p *v1alpha1.Profile) bool { return p.Name == "broken" && len(p.Status.Conditions) > 0 }
	if err := s.awaitReady(ctx, 1, said); err != nil {
		return nil, err
	}
	if err := letPass(ctx, 5*time.Second); err != nil {
		return nil, err
	}
	d := s.e.pause(30 * time.Second)
	n, err := s.writesDuring(ctx, d)
	return []figure{{name: fmt.Sprintf("writes in %v while waiting for a missing Secret", d), value: n}}, errors.Join(err, s.client.Delete(ctx, p))
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }
