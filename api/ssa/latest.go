package ssa

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Latest remembers what the server answered to a writer's last writes, so that a
// pass that comes before the cache has caught up does not decide on the state
// before its own write: it would write again and tell twice. The zero value is
// ready for use. It holds at most one object for each that is behind.
type Latest struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]*unstructured.Unstructured
}

// Refresh replaces obj, as read from a cache, by the answer to the last write
// when that is newer. It forgets the answer once the cache has caught up.
func (l *Latest) Refresh(obj client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := client.ObjectKeyFromObject(obj)
	u, ok := l.seen[key]
	if !ok {
		return
	}
	newer := false
	if u.GetUID() == obj.GetUID() {
		order, err := resourceversion.CompareResourceVersion(u.GetResourceVersion(), obj.GetResourceVersion())
		newer = err == nil && order > 0
	}
	if !newer || runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, obj) != nil {
		delete(l.seen, key)
	}
}

// Forget drops what is remembered of an object that is gone.
func (l *Latest) Forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, key)
}

// record keeps the server's answer to a write. A nil Latest keeps nothing.
func (l *Latest) record(u *unstructured.Unstructured) {
	if l == nil || u.GetResourceVersion() == "" {
		return
	}
	u.SetManagedFields(nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[types.NamespacedName]*unstructured.Unstructured{}
	}
	l.seen[client.ObjectKeyFromObject(u)] = u
}
