package datadir

import "testing"

func TestInUse(t *testing.T) {
	none, data, both := InUse{}, InUse{Data: "/my data/$1"}, InUse{Data: "/d", Kubeconfig: "/k"}
	for _, c := range []struct{ got, want string }{
		{none.Remedy("hermes up"), "hermes up"},
		{data.Remedy("hermes up"), "hermes --data '/my data/$1' up"},
		{both.Remedy("hermes status gateway/a -n b"), "hermes --data /d --kubeconfig /k status gateway/a -n b"},
		{both.Remedy(`echo "x: hermes y" | hermes apply -f -`), `echo "x: hermes y" | hermes --data /d --kubeconfig /k apply -f -`},
		{both.Remedy("chmod 700 /hermes d"), "chmod 700 /hermes d"},
		{both.Remedy("restart hermes up, or kubectl apply"), "restart hermes up, or kubectl apply"},
		{data.Message("gateway a does not run: see hermes status gateway/a"), "gateway a does not run: see hermes --data '/my data/$1' status gateway/a"},
		{both.Message("not ready: x → hermes explain y"), "not ready: x → hermes --data /d --kubeconfig /k explain y"},
		{InUse{Namespace: "team"}.Message("see hermes get profiles"), "see hermes -n team get profiles"},
		{InUse{Namespace: "team"}.Message("x → hermes status a -n team"), "x → hermes status a -n team"},
		{InUse{Namespace: "team"}.Remedy("hermes status a"), "hermes status a"},
		{both.Message("hermes up already runs: stop it with hermes --data /d down"), "hermes up already runs: stop it with hermes --data /d down"},
	} {
		if c.got != c.want {
			t.Errorf("%s\nwant\n%s", c.got, c.want)
		}
	}
}
