package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// staticPodLag is how long a node's static pods stay unchanged after a change of its machine configuration: Talos serves them
// by HTTP, and the kubelet polls every 20 s (KubeletConfiguration of Kubernetes 1.35, httpCheckFrequency).
const staticPodLag = 20 * time.Second

// judgeTimeout limits how long kube-apiserver parses its arguments on a busy machine.
const judgeTimeout = time.Minute

// staticPodRuns are the running static pods of each control plane. It must be used by one goroutine only.
type staticPodRuns struct {
	cluster *cluster
	byVMID  map[int]*staticPodRun
	refused map[string]bool // results, by the program and the arguments of an API server
}

// staticPodRun is what one node runs, and when that changes.
type staticPodRun struct {
	node    talos.KubernetesNode
	next    time.Time // zero if no change is pending
	crashes bool      // the API server exits as soon as it starts
	starts  bool      // the API server of its release is not ready yet
}

func newStaticPodRuns(c *cluster) *staticPodRuns {
	return &staticPodRuns{cluster: c, byVMID: map[int]*staticPodRun{}, refused: map[string]bool{}}
}

// follow updates what the control planes run. It wakes the cluster when a kubelet will have noticed a pending change.
func (r *staticPodRuns) follow(ctx context.Context, controlPlanes []talos.KubernetesNode) []staticPodRun {
	runs := make([]staticPodRun, 0, len(controlPlanes))
	for _, node := range controlPlanes {
		run := r.byVMID[node.Hardware.VMID]
		switch {
		case run == nil || run.node.BootID != node.BootID || sameVersions(run.node.StaticPods, node.StaticPods):
			run = r.start(ctx, node)
		case run.next.IsZero():
			lag := r.cluster.clusters.config.Scaled(staticPodLag)
			run.next = time.Now().Add(lag)
			time.AfterFunc(lag, r.cluster.wake)
		case !time.Now().Before(run.next):
			run = r.start(ctx, node)
		}
		runs = append(runs, *run)
	}
	return runs
}

func sameVersions(a, b talos.StaticPodVersions) bool {
	return maps.Equal(a.Config, b.Config) && a.Files == b.Files && a.Secrets == b.Secrets
}

func (r *staticPodRuns) start(ctx context.Context, node talos.KubernetesNode) *staticPodRun {
	run := &staticPodRun{node: node, crashes: r.refuses(ctx, node)}
	r.byVMID[node.Hardware.VMID] = run
	return run
}

// refuses reports whether kube-apiserver exits with the node's arguments. It runs kube-apiserver with --version, which parses
// all arguments before it prints the version and exits (k8s.io/kubernetes cmd/kube-apiserver/app/server.go). Talos' own
// arguments are valid, so a node without extra arguments is not checked.
func (r *staticPodRuns) refuses(ctx context.Context, node talos.KubernetesNode) bool {
	if len(node.Config.Cluster().APIServer().ExtraArgs()) == 0 {
		return false
	}
	args, err := apiServerArguments(node.Config, folder(r.cluster.dir), ports{}, 0, advertised(node))
	if err != nil {
		r.cluster.clusters.report(r.cluster.id, "arguments of the API server on "+node.Hostname, err)
		return true
	}
	program := r.cluster.clusters.config.Tools.releaseOf(node.Config.Cluster().APIServer().Image()).Path
	key := program + "\n" + strings.Join(args, "\n")
	if refused, judged := r.refused[key]; judged {
		return refused
	}
	ctx, cancel := context.WithTimeout(ctx, judgeTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, program, append([]string{k8s.APIServerID, "--version"}, args...)...)
	output, err := command.CombinedOutput()
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || ctx.Err() != nil) {
		r.cluster.clusters.report(r.cluster.id, "judge the arguments of the API server on "+node.Hostname, err)
		return false
	}
	r.refused[key] = err != nil
	if err != nil {
		r.cluster.clusters.report(r.cluster.id, "the API server on "+node.Hostname+" does not start", fmt.Errorf("%w: %s", err, lastLine(output)))
	}
	return err != nil
}

func lastLine(output []byte) string {
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	return lines[len(lines)-1]
}

// serving returns the control planes whose own API server runs.
func serving(runs []staticPodRun) []talos.KubernetesNode {
	var nodes []talos.KubernetesNode
	for _, run := range runs {
		if !run.crashes {
			nodes = append(nodes, run.node)
		}
	}
	return nodes
}

// soundFirst puts control planes with a running API server first: the shared processes use the configuration of the first
// one.
func soundFirst(runs []staticPodRun) []talos.KubernetesNode {
	nodes := serving(runs)
	for _, run := range runs {
		if run.crashes {
			nodes = append(nodes, run.node)
		}
	}
	return nodes
}

// runOf returns the run of a node, nil for a node without static pods.
func runOf(runs []staticPodRun, vmid int) *staticPodRun {
	i := slices.IndexFunc(runs, func(r staticPodRun) bool { return r.node.Hardware.VMID == vmid })
	if i < 0 {
		return nil
	}
	return &runs[i]
}
