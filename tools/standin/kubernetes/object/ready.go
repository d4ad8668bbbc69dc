package object

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// verdict on an object: is it ready, can it still become so, and what does it wait for.
type verdict struct {
	ready, failed bool
	message       string
}

// judgement is what an object is waited with.
type judgement func(*unstructured.Unstructured) verdict

// untilReady waits until an object is ready: as its annotation says, else as its kind has it; other objects are ready
// at once. It returns the object as it was last seen, and with an error what it still waited for.
func (o *Objects) untilReady(
	ctx context.Context, urn resource.URN, inputs, live *unstructured.Unstructured, patience time.Duration,
) (*unstructured.Unstructured, []string, error) {
	judge, err := judgementOn(inputs)
	if judge == nil || err != nil {
		return live, nil, err
	}
	client, err := o.client(live)
	if err != nil {
		return live, nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last verdict
	err = o.poll(waiting, func() (bool, error) {
		now, err := client.Get(waiting, live.GetName(), metav1.GetOptions{})
		if err != nil {
			last.message = err.Error()
			return false, nil // what cannot be asked now can be asked later
		}
		shown := last.message
		live, last = now, judge(now)
		if last.message != shown {
			o.log.Status(ctx, diag.Info, urn, last.message)
		}
		if last.failed {
			return false, errors.New(last.message)
		}
		return last.ready, nil
	})
	switch {
	case err == nil:
		return live, nil, nil
	case ctx.Err() != nil:
		err = fmt.Errorf("Resource operation was cancelled for %q", live.GetName()) //nolint:staticcheck // as the official provider says it
	case waiting.Err() != nil:
		err = fmt.Errorf("'%s' timed out waiting to be Ready", live.GetName())
	}
	return live, []string{last.message}, err
}

func (o *Objects) poll(ctx context.Context, look func() (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, o.interval, true, func(context.Context) (bool, error) { return look() })
}

// judgementOn returns how an object is waited with; nil when it is not.
func judgementOn(inputs *unstructured.Unstructured) (judgement, error) {
	switch {
	case isSet(inputs, skipAwait):
		return nil, nil
	case annotationOf(inputs, waitFor) != "":
		return parseConditions(annotationOf(inputs, waitFor))
	case awaited[inputs.GroupVersionKind().GroupKind().String()]:
		return judge, nil
	case os.Getenv("PULUMI_K8S_AWAIT_ALL") == "true":
		return computed, nil
	default:
		return nil, nil
	}
}

// awaited are the kinds that are waited with here (awaiters in provider/pkg/await/awaiters.go; what is not here of that
// list stands in docs/testing.md).
var awaited = map[string]bool{
	"Pod": true, "DaemonSet.apps": true, "Deployment.apps": true, "StatefulSet.apps": true, "Job.batch": true,
}

// judge reports whether an object is ready; one that is not waited with is.
func judge(live *unstructured.Unstructured) verdict {
	kind := live.GroupVersionKind().GroupKind().String()
	switch {
	case !awaited[kind]:
		return verdict{ready: true}
	case kind == "Job.batch":
		return judgeJob(live)
	}
	found := computed(live)
	found.failed = false // a Deployment that was given up, or a Pod that crashes, may still come round
	return found
}

// computed is what kstatus says, the library that the official provider uses for DaemonSets.
func computed(live *unstructured.Unstructured) verdict {
	result, err := status.Compute(live)
	if err != nil {
		return verdict{message: err.Error()}
	}
	return verdict{
		ready: result.Status == status.CurrentStatus, failed: result.Status == status.FailedStatus, message: result.Message,
	}
}

// judgeJob waits for the end of a Job, which kstatus does not.
func judgeJob(live *unstructured.Unstructured) verdict {
	switch {
	case conditionOf(live, "Complete").status == "True":
		return verdict{ready: true, message: "Job completed"}
	case conditionOf(live, "Failed").status == "True":
		return verdict{failed: true, message: "Job failed: " + conditionOf(live, "Failed").message}
	default:
		return verdict{message: "Waiting for the Job to complete"}
	}
}
