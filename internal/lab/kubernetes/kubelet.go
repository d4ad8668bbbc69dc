package kubernetes

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/em-infra/em-infra/internal/lab/talos"
)

// statusEvery is the number of lease renewals between two looks at the Node's status and at the mirror pods. Each request costs a small
// machine about as much as all else that an idle cluster does in that time.
const statusEvery = 5

// kubelet simulates the kubelet of one node. It registers the Node with its own identity and a kubelet's permissions, and
// renews its lease. KWOK simulates the Pods.
type kubelet struct {
	node   talos.KubernetesNode
	plane  *controlPlane
	beat   heartbeat
	client kubernetes.Interface
	report func(error)
	gpus   gpus
	// static are the node's running static pods; nil while none runs.
	static atomic.Pointer[staticPodRun]
	// renewed is the lease as it was last written, and mirrored the static pods that were last mirrored; nil if the API has to be asked.
	renewed  *coordinationv1.Lease
	mirrored *staticPodRun

	cancel context.CancelFunc
	done   chan struct{}
}

// startKubelet starts the kubelet of a node.
func startKubelet(ctx context.Context, plane *controlPlane, node talos.KubernetesNode, config Config) *kubelet {
	ctx, cancel := context.WithCancel(ctx)
	k := &kubelet{node: node, plane: plane, beat: newHeartbeat(config.Scaled), cancel: cancel, done: make(chan struct{})}
	k.report = func(err error) {
		if ctx.Err() == nil {
			config.Log.Warn("emulated kubelet", "node", node.Hostname, "error", err)
		}
	}
	go func() {
		defer close(k.done)
		k.live(ctx)
	}()
	return k
}

// stop stops the kubelet and waits for its end.
func (k *kubelet) stop() {
	k.cancel()
	<-k.done
}

// plays reports whether this is the kubelet of the node in its current boot and its current start, with its current configuration.
func (k *kubelet) plays(node talos.KubernetesNode) bool {
	return node.Hardware.VMID == k.node.Hardware.VMID && node.BootID == k.node.BootID && node.Config == k.node.Config &&
		node.Hostname == k.node.Hostname && node.KubeletStarts == k.node.KubeletStarts
}

func (k *kubelet) live(ctx context.Context) {
	if k.until(ctx, k.connect) != nil || k.until(ctx, k.join) != nil || k.register(ctx) != nil {
		return
	}
	var talos sync.WaitGroup
	// Talos works in parallel to the kubelet: a refused call of Talos does not make the node NotReady.
	talos.Go(func() { _ = k.until(ctx, k.applyMachineConfig) }) // fails with the context only
	defer talos.Wait()
	k.mirror(ctx)
	k.beats(ctx)
}

// beats renews the lease and updates the status until the context ends.
func (k *kubelet) beats(ctx context.Context) {
	ticker := time.NewTicker(k.beat.renew)
	defer ticker.Stop()
	for beats := 1; ; beats++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if err := k.renewLease(ctx); err != nil {
			k.report(err)
		}
		if beats%statusEvery == 0 || len(k.node.Hardware.NVIDIADevices()) > 0 { // react to a device plugin at once
			if err := k.updateStatus(ctx); err != nil {
				k.report(err)
			}
		}
		if run := k.static.Load(); run != k.mirrored || run != nil && run.crashes || beats%statusEvery == 0 {
			k.mirror(ctx)
		}
	}
}

// mirror mirrors the static pods. What fails is repeated at the next renewal of the lease.
func (k *kubelet) mirror(ctx context.Context) {
	run := k.static.Load()
	if err := k.mirrorStaticPods(ctx, run); err != nil {
		k.report(err)
		run = nil
	}
	k.mirrored = run
}

// until retries a step until it succeeds or the context ends. A repeated error is reported once.
func (k *kubelet) until(ctx context.Context, step func(context.Context) error) error {
	reported := ""
	for {
		err := step(ctx)
		if err == nil {
			return nil
		}
		if text := err.Error(); text != reported {
			k.report(err)
			reported = text
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(k.beat.renew / 4):
		}
	}
}

func (k *kubelet) connect(context.Context) error {
	config, err := k.plane.kubeletClient(k.node.Hostname)
	if err != nil {
		return err
	}
	client, err := newClient(config)
	if err != nil {
		return err
	}
	k.client = client
	return nil
}

// register creates the Node or adopts the existing one, and reports for the first time. A Node that is deleted later is not created again
// before the next start, also if the first report has still to be repeated (pkg/kubelet/kubelet_node_status.go: registrationCompleted is set
// before the status is updated). It fails with the context only.
func (k *kubelet) register(ctx context.Context) error {
	if err := k.until(ctx, k.createNode); err != nil {
		return err
	}
	if err := k.until(ctx, k.renewLease); err != nil {
		return err
	}
	return k.until(ctx, func(ctx context.Context) error {
		err := k.updateStatus(ctx)
		if apierrors.IsNotFound(err) {
			return nil // the Node was deleted: the next renewals of the lease report it
		}
		return err
	})
}

func (k *kubelet) createNode(ctx context.Context) error {
	wanted, err := newNode(k.node, time.Now())
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Nodes().Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = k.takeUp(ctx, wanted)
	}
	if err != nil {
		return fmt.Errorf("register the Node: %w", err)
	}
	return nil
}

// takeUp sets a kubelet's own labels on an existing Node.
func (k *kubelet) takeUp(ctx context.Context, wanted *corev1.Node) error {
	node, err := k.client.CoreV1().Nodes().Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if node.Labels == nil {
		node.Labels = map[string]string{}
	}
	for name, value := range wanted.Labels {
		node.Labels[name] = value
	}
	_, err = k.client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{})
	return err
}

// updateStatus updates the Node's status if it has changed.
func (k *kubelet) updateStatus(ctx context.Context) error {
	node, err := k.client.CoreV1().Nodes().Get(ctx, k.node.Hostname, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("look at the Node: %w", err)
	}
	status := nodeStatus(k.node, time.Now())
	if err := k.addGPUs(ctx, &status); err != nil {
		return err
	}
	if ready(node) && node.Status.NodeInfo == status.NodeInfo && sameGPUs(node.Status, status) {
		return nil
	}
	status.VolumesAttached, status.VolumesInUse = node.Status.VolumesAttached, node.Status.VolumesInUse
	node.Status = status
	if _, err := k.client.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update the Node's status: %w", err)
	}
	return nil
}

// ready reports whether all conditions that a kubelet sets on a Node are good.
func ready(node *corev1.Node) bool {
	for _, wanted := range conditions(time.Time{}) {
		found := false
		for _, condition := range node.Status.Conditions {
			found = found || condition.Type == wanted.Type && condition.Status == wanted.Status
		}
		if !found {
			return false
		}
	}
	return true
}

// renewLease renews the kubelet's lease. Like a real kubelet (component-helpers/apimachinery/lease/controller.go), it reads the lease only
// after another client has written or deleted it.
func (k *kubelet) renewLease(ctx context.Context) error {
	leases := k.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	seconds, now := int32(k.beat.lease/time.Second), metav1.NewMicroTime(time.Now())
	spec := coordinationv1.LeaseSpec{HolderIdentity: &k.node.Hostname, LeaseDurationSeconds: &seconds, RenewTime: &now}
	if k.renewed != nil {
		k.renewed.Spec = spec
		lease, err := leases.Update(ctx, k.renewed, metav1.UpdateOptions{})
		if err == nil {
			k.renewed = lease
			return nil
		}
		k.renewed = nil
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return fmt.Errorf("renew the lease: %w", err)
		}
	}
	lease, err := leases.Get(ctx, k.node.Hostname, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: k.node.Hostname}, Spec: spec}
		lease, err = leases.Create(ctx, lease, metav1.CreateOptions{})
	case err == nil:
		lease.Spec = spec
		lease, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renew the lease: %w", err)
	}
	k.renewed = lease
	return nil
}
