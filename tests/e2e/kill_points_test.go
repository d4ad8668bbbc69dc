package e2e_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/tests/labstack"
)

// killPoint is reached by an event of the host, its nodes, the cluster or the state, so that it does not depend on the
// machine's speed.
type killPoint struct {
	name    string
	reached func(seen *progressOf) bool
}

// progressOf is the progress of an operation so far.
type progressOf struct {
	*rehearsal
	calls []proxmox.Call
	nodes []labstack.NodeLine
	// before are the names of the resources that the state had at first.
	before []string
	// unlocked is the number of calls before an engine worked on the state.
	unlocked int

	// made is the number of calls before the operation began, at the time since.
	made     int
	since    time.Time
	hostLog  *labstack.Log[proxmox.Call]
	nodesLog *labstack.Log[labstack.NodeLine]
}

// progress begins to observe an operation.
func (r *rehearsal) progress() *progressOf {
	r.t.Helper()
	return &progressOf{
		rehearsal: r, before: r.inState(), unlocked: -1, made: len(r.calls()), since: time.Now(),
		hostLog: labstack.HostLog(r.labDir()), nodesLog: labstack.LogOfNodes(r.labDir()),
	}
}

// look reads the events since the operation began.
func (p *progressOf) look() {
	p.t.Helper()
	calls, err := p.hostLog.Read()
	require.NoError(p.t, err)
	lines, err := p.nodesLog.Read()
	require.NoError(p.t, err)
	p.calls, p.nodes = calls[p.made:], labstack.Since(lines, p.since)
	if p.unlocked < 0 && p.isLocked() {
		p.unlocked = len(p.calls)
	}
}

// locked is reached when an engine works on the state.
var locked = killPoint{name: "the lock", reached: func(seen *progressOf) bool { return seen.unlocked >= 0 }}

// answered is reached when the host has answered n requests to change something, by the end of their path.
func answered(verb, suffix string, n int) killPoint {
	return killPoint{
		name:    nth(n, verb+" "+suffix),
		reached: func(seen *progressOf) bool { return seen.count(seen.calls, verb, suffix) >= n },
	}
}

// read is reached when the engine that works on the state has read something of the host.
func read(suffix string) killPoint {
	return killPoint{name: "GET " + suffix, reached: func(seen *progressOf) bool {
		return seen.unlocked >= 0 && seen.count(seen.calls[seen.unlocked:], "GET", suffix) > 0
	}}
}

func (p *progressOf) count(calls []proxmox.Call, verb, suffix string) int {
	count := 0
	for _, c := range calls {
		if c.Verb == verb && strings.HasSuffix(c.Path, suffix) {
			count++
		}
	}
	return count
}

// spared is reached when a node is cordoned, or no longer a node.
func spared(node string) killPoint {
	return killPoint{name: node + " takes no pods", reached: func(seen *progressOf) bool {
		object, err := seen.kubernetes().CoreV1().Nodes().Get(seen.t.Context(), node, metav1.GetOptions{})
		return apierrors.IsNotFound(err) || err == nil && object.Spec.Unschedulable
	}}
}

// off is reached when the host no longer runs a machine.
func off(vmid int) killPoint {
	return killPoint{name: fmt.Sprintf("VM %d is off", vmid), reached: func(seen *progressOf) bool {
		machine, err := seen.host().VirtualMachine(seen.t.Context(), vmid)
		return err != nil || machine.Status == "stopped"
	}}
}

// worksOn is reached when the progress of a task was queried.
func worksOn(task string) killPoint {
	return killPoint{name: "task " + task, reached: func(seen *progressOf) bool {
		return slices.ContainsFunc(seen.calls, func(c proxmox.Call) bool { return strings.Contains(c.Path, ":"+task+":") })
	}}
}

// noNode is reached when Kubernetes does not have a node any more.
func noNode(node string) killPoint {
	return killPoint{name: node + " is no node", reached: func(seen *progressOf) bool {
		_, err := seen.kubernetes().CoreV1().Nodes().Get(seen.t.Context(), node, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}}
}

// onNodes is reached when n calls of a method, or steps, of nodes have ended.
func onNodes(what string, n int) killPoint {
	return killPoint{
		name: nth(n, what),
		reached: func(seen *progressOf) bool {
			count := 0
			for _, line := range seen.nodes {
				if line.Step == what || strings.HasSuffix(line.Method, "/"+what) {
					count++
				}
			}
			return count >= n
		},
	}
}

// inState is reached when the state contains a resource, forgotten when it no longer does, and begun when it contains a pending
// operation of the resource, or the operation was too short to be seen.
func inState(name string) killPoint {
	return killPoint{name: name + " is in the state", reached: func(seen *progressOf) bool { return seen.stateHas(name) }}
}

func forgotten(name string) killPoint {
	return killPoint{name: name + " is forgotten", reached: func(seen *progressOf) bool {
		return len(seen.state().Resources) > 0 && !seen.stateHas(name)
	}}
}

func begun(name string) killPoint {
	return killPoint{name: name + " is begun", reached: func(seen *progressOf) bool {
		for _, pending := range seen.pending() {
			if pending.Resource.URN.Name() == name {
				return true
			}
		}
		return len(seen.state().Resources) > 0 && slices.Contains(seen.before, name) != seen.stateHas(name)
	}}
}

func nth(n int, what string) string { return []string{"", "first ", "second "}[n] + what }

var birthPoints = []killPoint{
	locked,
	inState("k3s-dev-template-vmhost-image-schematic"),
	answered("POST", "/download-url", 1),
	answered("POST", "/nodes/vmhost/qemu", 1),
	inState("k3s-dev-template-vmhost-vm"),
	begun("k3s-dev-worker-1-vm"),
	answered("POST", "/9000/clone", 1),
	answered("POST", "/9000/clone", 2),
	answered("PUT", "/resize", 1),
	answered("POST", "/status/start", 1),
	answered("POST", "/status/start", 2),
	onNodes("ApplyConfiguration", 1),
	onNodes("install", 2),
	onNodes("Bootstrap", 1),
	inState("k3s-dev-kubeconfig"),
}

var endPoints = []killPoint{
	locked,
	forgotten("k3s-dev-worker-1-membership"),
	forgotten("k3s-dev-kubeconfig"),
	forgotten("k3s-dev-bootstrap"),
	forgotten("k3s-dev-control-1-configuration"),
	begun("k3s-dev-control-1-vm"),
	begun("k3s-dev-worker-1-vm"),
	answered("POST", "/102/status/stop", 1),
	answered("DELETE", "/qemu/101/", 1),
	answered("DELETE", "/qemu/102/", 1),
	forgotten("k3s-dev-control-1-vm"),
	forgotten("k3s-dev-worker-1-vm"),
	begun("k3s-dev-template-vmhost-vm"),
	answered("DELETE", "/qemu/9000/", 1),
	forgotten("k3s-dev-secrets"),
}

var removalPoints = []killPoint{
	locked,
	read("/qemu/102/config"),
	read("/qemu/101/config"),
	begun("k3s-dev-worker-1-membership"),
	spared("k3s-dev-worker-1"),
	onNodes("Reset", 1),
	off(102),
	noNode("k3s-dev-worker-1"),
	forgotten("k3s-dev-worker-1-membership"),
	begun("k3s-dev-worker-1-configuration"),
	forgotten("k3s-dev-worker-1-configuration"),
	begun("k3s-dev-worker-1-vm"),
	answered("DELETE", "/qemu/102/", 1),
	worksOn("qmdestroy:102"),
	forgotten("k3s-dev-worker-1-vm"),
}

var rollPoints = []killPoint{
	locked,
	read("/qemu/101/config"),
	begun("k3s-dev-control-1-vm"),
	answered("PUT", "/101/config", 1),
	answered("POST", "/101/status/reboot", 1),
	begun("k3s-dev-control-1-configuration"),
	onNodes("ApplyConfiguration", 1),
	onNodes("boot", 1),
	begun("k3s-dev-worker-1-vm"),
	spared("k3s-dev-worker-1"),
	answered("PUT", "/102/config", 1),
	answered("POST", "/102/status/reboot", 1),
	begun("k3s-dev-worker-1-configuration"),
	onNodes("ApplyConfiguration", 2),
	onNodes("boot", 2),
}

// inState returns the names of the resources in the state.
func (r *rehearsal) inState() []string {
	var names []string
	for _, resource := range r.state().Resources {
		names = append(names, resource.URN.Name())
	}
	return names
}

// isLocked reports whether an engine works on the state.
func (r *rehearsal) isLocked() bool {
	files, err := filepath.Glob(filepath.Join(r.dir(), "state", ".pulumi", "locks", "organization", "em-infra", r.stack, "*.json"))
	require.NoError(r.t, err)
	return len(files) > 0
}
