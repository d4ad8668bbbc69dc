package talostest

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// Killer ends a run at a call to a node, before the call has its effect or after it, and notes the calls. Create it with [NewKiller].
type Killer struct {
	faults talos.Faults

	mu    sync.Mutex
	calls []string
	at    string
	done  bool
	kill  func()
}

// NewKiller returns a killer that ends no run yet. All other effects are those of the faults.
func NewKiller(faults talos.Faults) *Killer { return &Killer{faults: faults} }

// At implements [talos.Faults].
func (k *Killer) At(p talos.Point) talos.Effect {
	if strings.HasPrefix(p.Name, "/") && k.ends(path.Base(p.Name), p.Done) {
		return talos.Effect{Cut: true}
	}
	return k.faults.At(p)
}

// ends notes a call, and ends the run if this is the call to end at.
func (k *Killer) ends(method string, done bool) bool {
	k.mu.Lock()
	if !done {
		k.calls = append(k.calls, method)
	}
	kill := k.kill
	if method != k.at || done != k.done {
		kill = nil
	}
	if kill != nil {
		k.kill = nil
	}
	k.mu.Unlock()
	if kill == nil {
		return false
	}
	kill() // it may call a node
	return true
}

// Begin forgets the calls, and makes the next run end at the first call of a method such as Reset, whose connection is cut after kill.
// If the method is empty, the run never ends this way.
func (k *Killer) Begin(method string, done bool, kill func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls, k.at, k.done, k.kill = nil, method, done, kill
}

// reads are calls that change nothing.
var reads = []string{
	"Dmesg", "EtcdAlarmList", "EtcdMemberList", "EtcdStatus", "Events", "Get", "Kubeconfig", "List", "Mounts", "Read", "ServiceList", "Version", "Watch",
}

// Writes returns the calls that change something, in their order.
func (k *Killer) Writes() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(k.calls), func(method string) bool { return slices.Contains(reads, method) })
}
