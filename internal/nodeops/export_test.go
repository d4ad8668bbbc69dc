package nodeops

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
)

// GPUView is the state of a node's GPUs as the node and its Kubernetes Node report it.
type GPUView struct {
	Talos               string // default: v1.12.4
	Devices             []string
	Extensions, Modules []string
	Plugin              string
	Offered             int
}

// Judge returns what is wrong with the node.
func (v GPUView) Judge(node GPUNode) error {
	return gpuView{talos: cmp.Or(v.Talos, "v1.12.4"), devices: v.Devices, extensions: v.Extensions, modules: v.Modules, plugin: v.Plugin, offered: v.Offered}.judge(node)
}

// KubernetesOf returns the API that a client reaches.
func KubernetesOf(client *http.Client) *Kubernetes {
	return &Kubernetes{location: "https://control-1:6443", client: client}
}

// ReadToItsEnd returns a connection whose end is reported by reads only.
func ReadToItsEnd(connection net.Conn) net.Conn { return readToItsEnd{connection} }

// What answers at the address of a node.
const (
	Silent      = silent
	Maintenance = maintenance
	Foreign     = foreign
	Untimely    = untimely
)

// Seen is a sighting. Boot identifies a boot; 0 is an unknown one.
type Seen struct {
	Presence presence
	Boot     int64
}

// GivesUpAfter returns the second in which the wait for a configured node ends with an error. The wait sees each sighting for
// one second, and the last one until the limit, in seconds. It returns 0 if the wait does not end before the limit.
func GivesUpAfter(all []Seen, limit int) int {
	v := &vigil{machine: "VM 101", configured: true}
	start := time.Unix(1, 0)
	for second := range limit {
		seen := all[min(second, len(all)-1)]
		now := sighting{presence: seen.Presence, answer: errors.New("no")}
		if seen.Boot != 0 {
			now.booted = time.Unix(seen.Boot, 0)
		}
		if _, err := v.judge(start.Add(time.Duration(second)*time.Second), now); err != nil {
			return second
		}
	}
	return 0
}

// WaitFor is WaitUntilReady with the test's own look.
func WaitFor(ctx context.Context, awaited Awaited, look func(context.Context) error) error {
	return waitUntilReady(ctx, awaited, look)
}

// Astray returns the error of a look when the endpoint is unreachable.
func Astray(server string) error {
	return &endpointError{server: server, cause: errors.New("it does not answer")}
}

// NotReady returns the error of a look when Nodes are not Ready.
func NotReady(names ...string) error { return &unreadyError{names: names, lacks: names} }

// UnlessStalled is the limit of streams.
var UnlessStalled = unlessStalled

// KeepsMajority returns an error that names the control plane that etcd lacks for a majority while another one reboots. The members are names; one
// with a + is a learner.
func KeepsMajority(members, controlPlanes []string, changed string) error {
	var health Health
	for _, name := range controlPlanes {
		health.Nodes = append(health.Nodes, rolling.Node{Name: name, ControlPlane: true})
	}
	var listed []*machineapi.EtcdMember
	for _, name := range members {
		listed = append(listed, &machineapi.EtcdMember{Hostname: strings.TrimSuffix(name, "+"), IsLearner: strings.HasSuffix(name, "+")})
	}
	return health.keepsMajority(listed, rolling.Node{Name: changed, ControlPlane: true})
}

// ReadObservation reads a node with a client.
func ReadObservation(ctx context.Context, api *client.Client) error {
	return new(Observation).read(ctx, api)
}
