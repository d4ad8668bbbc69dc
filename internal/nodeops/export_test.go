package nodeops

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// GPUView is what a node and its Kubernetes Node say of its GPUs.
type GPUView struct {
	Devices             []string
	Extensions, Modules []string
	Plugin              string
	Offered             int
}

// Judge says what is wrong with the node.
func (v GPUView) Judge(node GPUNode) error {
	return gpuView{talos: "v1.12.4", devices: v.Devices, extensions: v.Extensions, modules: v.Modules, plugin: v.Plugin, offered: v.Offered}.judge(node)
}

// KubernetesOf is the API behind a client.
func KubernetesOf(client *http.Client) *Kubernetes {
	return &Kubernetes{location: "https://control-1:6443", client: client}
}

// What a look at a node shows.
const (
	Silent      = silent
	Maintenance = maintenance
	Foreign     = foreign
	Untimely    = untimely
)

// Seen is a sighting; Boot tells one boot from the next.
type Seen struct {
	Presence presence
	Boot     int64
}

// GivesUpAfter is the second in which a wait for a configured node ends that sees this, a second each and the last one for
// ever; 0 when it waits on until the limit, in seconds.
func GivesUpAfter(all []Seen, limit int) int {
	v := &vigil{machine: "VM 101", configured: true}
	start := time.Unix(1, 0)
	for second := range limit {
		seen := all[min(second, len(all)-1)]
		now := sighting{presence: seen.Presence, answer: errors.New("no"), booted: time.Unix(seen.Boot, 0)}
		if _, err := v.judge(start.Add(time.Duration(second)*time.Second), now); err != nil {
			return second
		}
	}
	return 0
}

// WaitFor is WaitUntilReady with looks of the test's.
func WaitFor(ctx context.Context, awaited Awaited, look func(context.Context) error) error {
	return waitUntilReady(ctx, awaited, look)
}

// Astray is what a look shows where the endpoint leads nowhere.
func Astray(server string) error {
	return &endpointError{server: server, cause: errors.New("it does not answer")}
}

// NotReady is what a look shows where Nodes are not Ready.
func NotReady(names ...string) error { return &unreadyError{names: names, lacks: names} }
