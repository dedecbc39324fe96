package gateway

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"hermes.dev/hermes/api/v1alpha1"
	"hermes.dev/hermes/controllers/engine"
)

// gatewayStates are the values of label state, so that a state nobody is in is a zero and not a gap.
var gatewayStates = []string{"running", "starting", "failing", "stalled"}

// Metrics are the figures of all Gateways together. None is labelled with an object's name.
type Metrics struct {
	reader   client.Reader
	states   *prometheus.Desc
	restarts *prometheus.CounterVec
}

// NewMetrics returns metrics that read the Gateways from a cache when they are asked for.
func NewMetrics(reader client.Reader) *Metrics {
	return &Metrics{
		reader: reader,
		states: prometheus.NewDesc("hermes_gateways", "Gateways by state.", []string{"state"}, nil),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hermes_gateway_restarts_total", Help: "Unplanned restarts of gateways, by why the run before ended.",
		}, []string{"reason"}),
	}
}

// Register adds the metrics to a registry. A second set in one process is refused by
// the registry and reported as an error, unless it is the same one.
func (m *Metrics) Register(r prometheus.Registerer) error {
	err := r.Register(m)
	var twice prometheus.AlreadyRegisteredError
	if errors.As(err, &twice) {
		r.Unregister(twice.ExistingCollector)
		return r.Register(m)
	}
	return err
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.states
	m.restarts.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.restarts.Collect(ch)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var all v1alpha1.GatewayList
	if err := m.reader.List(ctx, &all); err != nil {
		return // the cache is not filled yet
	}
	count := map[string]int{}
	for i := range all.Items {
		count[stateOf(&all.Items[i])]++
	}
	for _, state := range gatewayStates {
		ch <- prometheus.MustNewConstMetric(m.states, prometheus.GaugeValue, float64(count[state]), state)
	}
}

// stateOf sums a Gateway up in one word. It is a pure function.
func stateOf(gw *v1alpha1.Gateway) string {
	running := meta.FindStatusCondition(gw.Status.Conditions, v1alpha1.ConditionRunning)
	switch {
	case runs(gw):
		return "running"
	case meta.IsStatusConditionTrue(gw.Status.Conditions, v1alpha1.ConditionStalled):
		return "stalled"
	case running == nil, running.Reason == v1alpha1.ReasonStarting, running.Reason == v1alpha1.ReasonReconciling:
		return "starting"
	default:
		return "failing"
	}
}

// restarted counts the restarts between what a Gateway's status says and what its engine observes now. The cause is
// the end before: a gateway that was started again is Starting, or Running. An engine that cannot tell leaves the reason
// of condition Running.
func (m *Metrics) restarted(gw *v1alpha1.Gateway, o engine.Observation, running string) {
	if n := o.Restarts - gw.Status.Restarts; m != nil && n > 0 {
		reason := o.LastExitReason
		if reason == "" {
			reason = running
		}
		m.restarts.WithLabelValues(reason).Add(float64(n))
	}
}
