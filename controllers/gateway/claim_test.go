package gateway

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"hermes.dev/hermes/api/v1alpha1"
)

// claim returns a Gateway by home and age; a reason means an earlier pass saw it.
func claim(uid, home string, age int, reason string, engine v1alpha1.EngineType) v1alpha1.Gateway {
	gw := v1alpha1.Gateway{ObjectMeta: metav1.ObjectMeta{
		Name: uid, UID: types.UID(uid), CreationTimestamp: metav1.NewTime(time.Unix(1000-int64(age), 0)),
	}}
	gw.Spec.Home, gw.Spec.Engine = home, engine
	if reason != "" {
		gw.Status.Home = home
		gw.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRunning, Reason: reason}}
	}
	return gw
}

func TestClaimant(t *testing.T) {
	const p, k = v1alpha1.EngineProcess, v1alpha1.EngineKubernetes
	cases := []struct {
		name      string
		me, other v1alpha1.Gateway
		lost      bool
	}{
		{"apart", claim("a", "/x", 0, "", p), claim("b", "/y", 9, "", p), false},
		{"one is a prefix of the other's name", claim("a", "/x", 0, "", p), claim("b", "/xy", 9, "", p), false},
		{"older wins", claim("a", "/x", 0, "", p), claim("b", "/x", 9, "", p), true},
		{"younger loses", claim("a", "/x", 9, "", p), claim("b", "/x", 0, "", p), false},
		{"inside", claim("a", "/x/y", 0, "", p), claim("b", "/x", 9, "", p), true},
		{"around", claim("a", "/x", 0, "", p), claim("b", "/x/y", 9, "", p), true},
		{"the root directory is around all", claim("a", "/x", 0, "", p), claim("b", "/", 9, "", p), true},
		{"same age: smaller UID", claim("b", "/x", 0, "", p), claim("a", "/x", 0, "", p), true},
		{"granted keeps it against older", claim("a", "/x", 0, v1alpha1.ReasonRunning, p), claim("b", "/x", 9, "", p), false},
		{"a crash does not cost the root", claim("a", "/x", 0, v1alpha1.ReasonCrashLoop, p), claim("b", "/x", 9, v1alpha1.ReasonHomeClaimed, p), false},
		{"refused stays refused", claim("b", "/x", 9, v1alpha1.ReasonHomeClaimed, p), claim("a", "/x", 0, v1alpha1.ReasonCrashLoop, p), true},
		{"both granted: older", claim("a", "/x", 0, v1alpha1.ReasonRunning, p), claim("b", "/x", 9, v1alpha1.ReasonRunning, p), true},
		{"pods share no disk", claim("a", "/x", 0, "", k), claim("b", "/x", 9, "", k), false},
		{"a pod and a process share no disk", claim("a", "/x", 0, "", p), claim("b", "/x", 9, "", k), false},
		{"itself", claim("a", "/x", 0, "", p), claim("a", "/x", 0, "", p), false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := claimant(&c.me, []v1alpha1.Gateway{c.me, c.other}, func(g *v1alpha1.Gateway) string { return HomeOf(g, "/root") })
			if (got != nil) != c.lost {
				t.Errorf("claimant %v, want lost=%v", got, c.lost)
			}
		})
	}
}

// A root that was granted is not granted any more once the Gateway wants another.
func TestGrantedIsForTheWantedRoot(t *testing.T) {
	moved := claim("a", "/x", 0, v1alpha1.ReasonRunning, v1alpha1.EngineProcess)
	moved.Spec.Home = "/y"
	older := claim("b", "/y", 9, v1alpha1.ReasonRunning, v1alpha1.EngineProcess)
	if got := claimant(&moved, []v1alpha1.Gateway{older}, func(g *v1alpha1.Gateway) string { return HomeOf(g, "/root") }); got == nil {
		t.Error("a moved Gateway took a root that another one has")
	}
}

// The owner is named, not another Gateway that waits as well.
func TestClaimantIsTheBestClaim(t *testing.T) {
	const p = v1alpha1.EngineProcess
	me, waits, owner := claim("c", "/x/y", 0, "", p), claim("b", "/x", 5, v1alpha1.ReasonHomeClaimed, p), claim("a", "/x", 3, v1alpha1.ReasonRunning, p)
	for _, all := range [][]v1alpha1.Gateway{{waits, owner, me}, {owner, waits, me}} {
		got := claimant(&me, all, func(g *v1alpha1.Gateway) string { return HomeOf(g, "/root") })
		if got == nil || got.UID != owner.UID {
			t.Errorf("claimant %v, want the owner", got)
		}
	}
}
