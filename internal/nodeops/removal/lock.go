package removal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/em-infra/em-infra/internal/nodeops/kubernetesclient"
	"github.com/em-infra/em-infra/internal/poll"
)

// Lease is the Lease in kube-system whose holder removes a control plane: one at a time, no matter which run removes it.
const Lease = "em-infra-control-planes"

// The times of the Lease, which are those of Kubernetes' own controllers (kubernetes v1.35, component-base/config/v1alpha1,
// RecommendedDefaultLeaderElectionConfiguration), with more patience for an API server that changes: a holder that was killed holds
// it for a minute.
const (
	leaseDuration = time.Minute
	renewDeadline = 40 * time.Second
	retryPeriod   = 2 * time.Second
)

// alone does the work while it holds the Lease. It waits for another holder, and gives up when no answer about the Lease has come for
// [Limits.Answer].
func (c ControlPlane) alone(ctx context.Context, api *kubernetes.Clientset, work func(context.Context) error) error {
	held, release := context.WithCancel(ctx)
	defer release()
	working, stop := context.WithCancel(held)
	defer stop()
	isLost := false
	done := make(chan error, 1)
	own := c.Name + "-" + uuid.NewString()
	lease := newLease(api, own)
	lease.refused, lease.patience = release, c.Limits.Answer
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lease, LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: retryPeriod, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) {
				done <- work(working)
				release()
			},
			OnStoppedLeading: func() {
				isLost = held.Err() == nil // else the work is done, or ctx has ended
				stop()
			},
			OnNewLeader: func(holder string) {
				if holder != own {
					c.say("%s waits until another control plane is removed (%s)", c.Name, holder)
				}
			},
		},
	})
	if err != nil {
		return err
	}
	elector.Run(held)
	switch {
	case lease.wasHeld:
	case ctx.Err() != nil:
		return fmt.Errorf("removing %s: %w", c.Name, context.Cause(ctx))
	default:
		return fmt.Errorf("%s is untouched, because the Lease %s in kube-system cannot be taken, by which one control plane is removed at a time (%w): mend that, then run `em-infra up` again", c.Name, Lease, lease.problem)
	}
	err = <-done
	if isLost && err != nil && !errors.Is(err, errNotSpared) {
		return c.lostLease(api)
	}
	return err
}

// lostLease is the error of work that ended with the Lease: its own error would state only that it was cancelled.
func (c ControlPlane) lostLease(api *kubernetes.Clientset) error {
	server := api.CoordinationV1().RESTClient().Get().URL().Host
	return fmt.Errorf("the removal of %s has ended, because the Lease %s was lost (the API server at %s did not answer for %s): see `em-infra status`, mend that, then run `em-infra up` again; it goes on from here",
		c.Name, Lease, server, poll.InWords(renewDeadline))
}

// lease records whether it was ever held, and gives up on an API that refuses to take it. The elector calls it from one goroutine, retries forever
// and does not return the errors.
type lease struct {
	resourcelock.Interface

	wasHeld  bool
	problem  error     // of the last calls; nil after one that succeeded
	since    time.Time // when these began to fail
	patience time.Duration
	refused  func()
}

func newLease(api *kubernetes.Clientset, holder string) *lease {
	return &lease{Interface: &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: Lease}, Client: api.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: holder},
	}}
}

func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Create(ctx, record)
	l.note(record, err)
	return err
}

func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	err := l.Interface.Update(ctx, record)
	l.note(record, err)
	return err
}

func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil && !apierrors.IsNotFound(err) {
		l.noteProblem(err)
	}
	return record, raw, err
}

func (l *lease) note(record resourcelock.LeaderElectionRecord, err error) {
	l.wasHeld = l.wasHeld || err == nil && record.HolderIdentity == l.Identity()
	switch {
	case err == nil:
		l.problem = nil
	case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err): // else another one was faster
		l.noteProblem(err)
	}
}

func (l *lease) noteProblem(err error) {
	if l.problem == nil {
		l.since = time.Now()
	}
	l.problem = err
	if !l.wasHeld && time.Since(l.since) >= l.patience {
		l.refused()
	}
}

// awaitClientset waits until another control plane's API server answers: that of a control plane that has just joined starts late.
func (c ControlPlane) awaitClientset(ctx context.Context, others []string) (api *kubernetes.Clientset, err error) {
	bounded, cancel := context.WithTimeout(ctx, c.Limits.Answer)
	defer cancel()
	isTold := false
	ended := poll.Until(bounded, c.Limits.Interval, func(ctx context.Context) (bool, error) {
		found, problem := c.clientset(ctx, others)
		if bounded.Err() != nil {
			return false, nil // the last problem before counts
		}
		api, err = found, problem
		if err != nil && !isTold {
			isTold = true
			c.say("%s waits until the Kubernetes API of another control plane answers", c.Name)
		}
		return err == nil, nil
	})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("removing %s: %w", c.Name, context.Cause(ctx))
	case ended != nil && err == nil:
		return nil, fmt.Errorf("%s is not removed, because no other control plane answers: %w", c.Name, errNoAPI)
	}
	return api, err
}

// clientset returns a client of the first other control plane whose API server answers.
func (c ControlPlane) clientset(ctx context.Context, others []string) (*kubernetes.Clientset, error) {
	var problems []error
	for _, address := range others {
		api, err := clientsetAt(ctx, c.Talosconfig, address)
		if err == nil {
			return api, nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", address, err))
	}
	return nil, fmt.Errorf("%s is not removed, because no other control plane answers (%w): %w", c.Name, errors.Join(problems...), errNoAPI)
}

func clientsetAt(ctx context.Context, talosconfig []byte, address string) (*kubernetes.Clientset, error) {
	config, err := kubernetesclient.Config(ctx, talosconfig, address)
	if err != nil {
		return nil, err
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	_, err = api.Discovery().ServerVersion()
	return api, err
}
