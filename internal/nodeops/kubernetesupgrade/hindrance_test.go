package kubernetesupgrade_test

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// hindrance is what goes wrong on the nodes while a test wants it. The zero value hinders nothing.
type hindrance struct {
	rule atomic.Pointer[func(talos.Point) talos.Effect]
}

var _ talos.Faults = (*hindrance)(nil)

// At implements [talos.Faults].
func (h *hindrance) At(p talos.Point) talos.Effect {
	if rule := h.rule.Load(); rule != nil && !p.Done {
		return (*rule)(p)
	}
	return talos.Effect{}
}

// on gives a step or a call an effect until the next rule, on one machine, or on all machines if vmid is 0. The channel is closed when a machine first
// comes to it.
func (h *hindrance) on(vmid int, step talos.Step, effect talos.Effect) (reached <-chan struct{}) {
	first := make(chan struct{})
	reach := sync.OnceFunc(func() { close(first) })
	rule := func(p talos.Point) talos.Effect {
		if p.Name == string(step) && (vmid == 0 || p.VMID == vmid) {
			reach()
			return effect
		}
		return talos.Effect{}
	}
	h.rule.Store(&rule)
	return first
}

func (h *hindrance) end() { h.rule.Store(nil) }

// imagePull is the call by which a node pulls an image in advance.
const imagePull talos.Step = "/machine.MachineService/ImagePull"

// noSuchImage is the answer of a node to a pull of an image that its registry does not have (talos v1.12.4, v1alpha1_images.go).
var noSuchImage = talos.Effect{Err: status.Error(codes.NotFound, "error pulling image: not found")}

// trigger is a writer that calls a function once, when a text is written to it.
type trigger struct {
	also io.Writer
	text string
	then func()
	done bool
}

func (t *trigger) Write(text []byte) (int, error) {
	if !t.done && strings.Contains(string(text), t.text) {
		t.done = true
		t.then()
	}
	return t.also.Write(text)
}
