package kubernetes

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/etcd"
)

// Arguments returns the arguments of all processes, by name.
func Arguments(dir string, nodes ...talos.KubernetesNode) (map[string][]string, error) {
	tools := Tools{ControlPlanes: []ControlPlane{{Version: "v1.35.4", Path: "controlplane"}}, Kwok: "kwok"}
	plane := newControlPlane(dir, Config{Tools: tools, Scaled: func(d time.Duration) time.Duration { return d }}, nodes)
	plane.ports = ports{etcdClient: 1001, etcdPeer: 1002}
	var runs []staticPodRun
	for _, node := range nodes {
		runs = append(runs, staticPodRun{node: node})
	}
	wanted := tools.lineup(runs)
	server, serverErr := plane.serverComponent(wanted.servers[0], 1003)
	clients, clientsErr := plane.clientComponents(wanted)
	arguments := map[string][]string{}
	for _, c := range append(clients, plane.etcd(), server) {
		arguments[c.name] = append([]string{c.path}, c.args...)
	}
	return arguments, errors.Join(serverErr, clientsErr)
}

// Lineup returns the processes that these nodes ask for, as NAME RELEASE NODE. NODE is the node whose configuration the process
// has. The API servers of crashing nodes exit.
func Lineup(tools Tools, crashing map[int]bool, nodes ...talos.KubernetesNode) []string {
	var runs []staticPodRun
	for _, node := range nodes {
		runs = append(runs, staticPodRun{node: node, crashes: crashing[node.Hardware.VMID]})
	}
	l := tools.lineup(runs)
	var all []string
	say := func(name string, i instance) { all = append(all, name+" "+i.release.Version+" "+i.node.Hostname) }
	for _, server := range l.servers {
		say("kube-apiserver", server)
	}
	if l.manager != nil {
		say("kube-controller-manager", *l.manager)
	}
	if l.scheduler != nil {
		say("kube-scheduler", *l.scheduler)
	}
	return all
}

// Prepare writes the files of a control plane.
func Prepare(dir string, nodes ...talos.KubernetesNode) error {
	plane := newControlPlane(dir, Config{}, nodes)
	var err error
	if plane.gate, err = forward(local(0), plane.oldest); err != nil {
		return err
	}
	defer plane.gate.close()
	return plane.prepare()
}

// Run runs a process of a control plane.
func Run(ctx context.Context, dir, name, path string, args ...string) error {
	return component{name: name, path: path, args: args}.run(ctx, dir)
}

// Front is front for tests.
type Front struct{ front *front }

// NewFront returns a front without addresses.
func NewFront() Front { return Front{newFront()} }

// Serve forwards these addresses to the target, and no others.
func (f Front) Serve(target netip.AddrPort, addresses ...netip.AddrPort) error {
	targets := map[netip.AddrPort]netip.AddrPort{}
	for _, address := range addresses {
		targets[address] = target
	}
	return f.front.serve(targets)
}

// Close closes all connections.
func (f Front) Close() { f.front.close() }

// Heartbeat returns renew, lease, monitor and grace at a time scale.
func Heartbeat(scale float64) [4]time.Duration {
	beat := newHeartbeat(func(d time.Duration) time.Duration { return time.Duration(float64(d) * scale) })
	return [4]time.Duration{beat.renew, beat.lease, beat.monitor, beat.grace}
}

// NewNode returns a Node as its kubelet registers it and as Talos completes it.
func NewNode(node talos.KubernetesNode, now time.Time) (*corev1.Node, error) {
	object, err := newNode(node, now)
	if err != nil {
		return nil, err
	}
	return object, applyTo(object, node)
}

// Register registers the kubelet of a node, until the context ends.
func Register(ctx context.Context, node talos.KubernetesNode, api kubernetes.Interface, report func(error)) error {
	k := kubelet{node: node, client: api, report: report, beat: heartbeat{lease: time.Second}}
	return k.register(ctx)
}

// Manifests returns the objects that Talos creates for a machine configuration, in order: KIND NAMESPACE/NAME.
func Manifests(cfg config.Provider) ([]string, error) {
	manifests, err := manifestsOf(cfg)
	if err != nil {
		return nil, err
	}
	objects, err := flatten(manifests)
	var names []string
	for _, object := range objects {
		names = append(names, strings.TrimSuffix(object.GetKind()+" "+object.GetNamespace(), " ")+" "+object.GetName())
	}
	return names, err
}

// ProxyArguments are the arguments of kube-proxy.
var ProxyArguments = proxyArguments

// Pure functions.
var (
	ApplyTo          = applyTo
	Endpoints        = endpoints
	RegisteredTaints = registeredTaints
	Trusts           = trusts
)

// Keep runs a process that is started again when it ends by itself, until the context ends, and reports each end.
func Keep(ctx context.Context, dir, name string, report func(error), path string, args ...string) error {
	group, ctx := errgroup.WithContext(ctx)
	keep(ctx, group, component{name: name, path: path, args: args}, dir, time.Millisecond, report)
	return group.Wait()
}

// EtcdAlarms returns the kinds of the alarms that the etcd of a cluster has.
func (c *Clusters) EtcdAlarms(ctx context.Context, etcdCluster string) ([]etcd.AlarmKind, error) {
	client, _, err := c.etcdClient(ctx, etcdCluster)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	listed, err := client.AlarmList(ctx)
	if err != nil {
		return nil, err
	}
	var kinds []etcd.AlarmKind
	for _, alarm := range listed.Alarms {
		kinds = append(kinds, etcd.AlarmKind(alarm.Alarm.String()))
	}
	return kinds, nil
}
