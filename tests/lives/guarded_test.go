package lives_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/em-infra/em-infra/tests/lives/model"
	"github.com/em-infra/em-infra/tests/lives/site"
)

// guarded is the name of a Deployment of two pods, of which its PodDisruptionBudget lets one leave at a time.
const guarded = "guarded"

// guardedPods is how many pods it has.
const guardedPods = 2

var (
	guardedLabel = map[string]string{"lives": guarded}
	ofGuarded    = &metav1.LabelSelector{MatchLabels: guardedLabel}
)

// guardedFits reports whether two workers take pods. With fewer, no worker can be drained as long as the budget exists, so a user removes it.
func (f *life) guardedFits() bool {
	workers := slices.DeleteFunc(f.site.Names(site.Worker), func(name string) bool {
		_, cordoned := f.cordons[name]
		return cordoned
	})
	return !f.gone && !f.restoring && len(workers) >= 2
}

// keepGuarded creates the Deployment with its budget where it fits, and removes it where it does not, as soon as Kubernetes answers.
func (f *life) keepGuarded() {
	f.t.Helper()
	if f.gone {
		f.guarded, f.unsureOfGuarded = false, false
	}
	fits := f.guardedFits()
	if f.guarded == fits && !f.unsureOfGuarded {
		return
	}
	api, err := f.kubernetes()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(f.t.Context(), 5*time.Second)
	defer cancel()
	change := deleteGuarded
	if fits {
		change = createGuarded
	}
	if err := change(ctx, api); err == nil {
		f.guarded, f.unsureOfGuarded = fits, false
		f.say("  the guarded Deployment exists: %v", f.guarded)
	}
}

func createGuarded(ctx context.Context, api kubernetes.Interface) error {
	replicas, available := int32(guardedPods), intstr.FromInt32(guardedPods-1)
	named := metav1.ObjectMeta{Name: guarded}
	_, err := api.AppsV1().Deployments(canaryNamespace).Create(ctx, &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: ofGuarded,
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: guardedLabel},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: guarded, Image: "example.org/guarded:1"}}},
		},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = api.PolicyV1().PodDisruptionBudgets(canaryNamespace).Create(ctx, &policyv1.PodDisruptionBudget{ObjectMeta: named, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: &available, Selector: ofGuarded,
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// deleteGuarded deletes the budget first, so that nothing waits for it.
func deleteGuarded(ctx context.Context, api kubernetes.Interface) error {
	err := api.PolicyV1().PodDisruptionBudgets(canaryNamespace).Delete(ctx, guarded, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	err = api.AppsV1().Deployments(canaryNamespace).Delete(ctx, guarded, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// readyGuarded returns how many of the pods are Ready.
func readyGuarded(ctx context.Context, api kubernetes.Interface) (ready int, err error) {
	pods, err := api.CoreV1().Pods(canaryNamespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(ofGuarded)})
	if err != nil {
		return 0, err
	}
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}) {
			ready++
		}
	}
	return ready, nil
}

// guard records the guarded pods during a run.
type guard struct {
	*life
	// nodes are the names of the nodes by the VMIDs of their machines.
	nodes map[int]string
	// off are the machines that are off when the run begins. One that is started and has to be changed boots twice (docs/decisions/0030).
	off     map[int]bool
	stop    context.CancelFunc
	stopped func()

	mu   sync.Mutex
	pods map[string]model.Pod
}

// watchGuarded begins to record. Without the Deployment there is nothing to record.
func (f *life) watchGuarded() *guard {
	f.t.Helper()
	g := &guard{life: f, off: map[int]bool{}, stop: func() {}, stopped: func() {}, pods: map[string]model.Pod{}}
	api, err := f.kubernetes()
	if !f.guarded || err != nil {
		return g
	}
	g.nodes = f.nodesByVMID()
	for _, m := range f.see().Machines {
		g.off[m.VMID] = !m.Running
	}
	factory := informers.NewSharedInformerFactoryWithOptions(api, 0, informers.WithNamespace(canaryNamespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = metav1.FormatLabelSelector(ofGuarded) }))
	informer := factory.Core().V1().Pods().Informer()
	// Kubernetes is away while its only control plane boots: the informer lists the pods again afterwards.
	require.NoError(f.t, informer.SetWatchErrorHandler(func(*cache.Reflector, error) {}))
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { g.saw(object) },
		UpdateFunc: func(_, object any) { g.saw(object) },
		DeleteFunc: g.sawLast,
	})
	require.NoError(f.t, err)
	ctx, cancel := context.WithCancel(f.t.Context())
	factory.Start(ctx.Done())
	g.stop, g.stopped = cancel, factory.Shutdown
	return g
}

func (f *life) nodesByVMID() map[int]string {
	f.t.Helper()
	nodes := map[int]string{}
	for _, m := range f.see().Machines {
		nodes[m.VMID] = m.Name
	}
	for _, n := range f.site.Nodes { // whose machine may have been renamed by hand
		nodes[n.VMID] = n.Name
	}
	return nodes
}

func (g *guard) saw(object any) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || pod.Spec.NodeName == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	of, known := g.pods[pod.Name]
	if !known {
		of = model.Pod{Name: pod.Name, Node: pod.Spec.NodeName, Since: time.Now()}
	}
	if asked := pod.DeletionTimestamp; asked != nil {
		of.Leaves = asked.Add(-time.Duration(graceOf(pod)) * time.Second)
	}
	of.Disrupted = of.Disrupted || slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue
	})
	g.pods[pod.Name] = of
}

func graceOf(pod *corev1.Pod) int64 {
	if seconds := pod.DeletionGracePeriodSeconds; seconds != nil {
		return *seconds
	}
	return 0
}

// sawLast records a pod that is gone. If it left while Kubernetes did not answer, it is not known how, so the pod is not judged.
func (g *guard) sawLast(object any) {
	if unknown, was := object.(cache.DeletedFinalStateUnknown); was {
		g.mu.Lock()
		defer g.mu.Unlock()
		if pod, isPod := unknown.Obj.(*corev1.Pod); isPod {
			delete(g.pods, pod.Name)
		}
		return
	}
	g.saw(object)
}

// ended checks the run, unless the Deployment was removed in it, or a restore of etcd took the cluster back.
func (g *guard) ended(what string, began time.Time) {
	g.t.Helper()
	g.stop()
	g.stopped()
	if !g.guarded || g.restoring || what == "destroy" {
		return
	}
	tallied.checked(model.Disruptions)
	outages := slices.DeleteFunc(g.outages(began), func(o model.Outage) bool { return g.off[o.VMID] })
	g.violated(model.Budget(g.nodes, g.known(), outages))
}

// known returns the pods of which it is known how they left, or that they stayed. An informer that has lost its API server tries again after up
// to half a minute, so the run may have ended by then.
func (g *guard) known() (pods []model.Pod) {
	g.t.Helper()
	var there []corev1.Pod
	if api, err := g.kubernetes(); err == nil {
		ctx, cancel := context.WithTimeout(g.t.Context(), 5*time.Second)
		defer cancel()
		if list, err := api.CoreV1().Pods(canaryNamespace).List(ctx, metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(ofGuarded)}); err == nil {
			there = list.Items
		}
	}
	for _, pod := range g.pods {
		stays := slices.ContainsFunc(there, func(p corev1.Pod) bool { return p.Name == pod.Name && p.DeletionTimestamp == nil })
		if stays || !pod.Leaves.IsZero() {
			pods = append(pods, pod)
		}
	}
	return pods
}
