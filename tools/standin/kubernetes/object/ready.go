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

// verdict is the state of an object: whether it is ready, whether it has failed for good, and what it waits for.
type verdict struct {
	ready, failed bool
	message       string
}

// judgement returns the verdict on an object.
type judgement func(*unstructured.Unstructured) verdict

// untilReady waits until an object is ready: by its annotation, else by the rules of its kind. Objects without either are ready at
// once. It returns the object as it was last read. With an error it also returns what the object still waited for.
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
			return false, nil // a failed request is repeated later
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

// judgementOn returns the judgement for an object; nil if nothing is waited for.
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

// awaited are the kinds that the stand-in waits for (awaiters in provider/pkg/await/awaiters.go). docs/testing.md lists the kinds
// that are missing here.
var awaited = map[string]bool{
	"Pod": true, "DaemonSet.apps": true, "Deployment.apps": true, "StatefulSet.apps": true, "Job.batch": true,
}

// judge returns the verdict on an object. A kind that is not awaited is ready.
func judge(live *unstructured.Unstructured) verdict {
	kind := live.GroupVersionKind().GroupKind().String()
	switch {
	case !awaited[kind]:
		return verdict{ready: true}
	case kind == "Job.batch":
		return judgeJob(live)
	}
	found := computed(live)
	found.failed = false // a Deployment that Kubernetes gave up, or a Pod that crashes, may still recover
	return found
}

// computed returns the verdict of kstatus, the library that the official provider uses for DaemonSets.
func computed(live *unstructured.Unstructured) verdict {
	result, err := status.Compute(live)
	if err != nil {
		return verdict{message: err.Error()}
	}
	return verdict{
		ready: result.Status == status.CurrentStatus, failed: result.Status == status.FailedStatus, message: result.Message,
	}
}

// judgeJob returns the verdict on a Job. It waits for the end of the Job, which kstatus does not.
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
