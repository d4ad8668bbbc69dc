package nodeops_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// gpuPod is an API server for the one pod that tests a GPU.
type gpuPod struct {
	status  string          // of the pod, as JSON
	refused bool            // the pod is not admitted
	looked  func()          // called for each read of the pod; nil for none
	mu      sync.Mutex      // guards the fields below
	there   bool            // the pod exists
	asked   json.RawMessage // the pod as it was created
}

func (p *gpuPod) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const pods, pod = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/em-infra-gpu-gpu-1"
	switch call := request.Method + " " + request.URL.Path; {
	case request.URL.Path == "/readyz":
	case call == "POST "+pods && p.refused:
		http.Error(w, "no", http.StatusForbidden)
	case call == "POST "+pods && !p.there:
		p.there = json.NewDecoder(request.Body).Decode(&p.asked) == nil
		fmt.Fprint(w, "{}")
	case call == "GET "+pod && p.there:
		if p.looked != nil {
			p.looked()
		}
		fmt.Fprintf(w, `{"status":%s}`, p.status)
	case call == "DELETE "+pod && p.there:
		p.there = false
		fmt.Fprint(w, "{}")
	case call == "DELETE "+pod:
		http.Error(w, "gone", http.StatusNotFound)
	default:
		http.Error(w, "unexpected "+call, http.StatusTeapot)
	}
}

// TestAPodTriesTheGPU checks that the pod of an earlier run is deleted first, and that no pod remains after any outcome.
func TestAPodTriesTheGPU(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		pod *gpuPod
		err string
	}{
		"works":         {&gpuPod{status: `{"phase":"Succeeded"}`}, ""},
		"after another": {&gpuPod{status: `{"phase":"Succeeded"}`, there: true}, ""},
		"fails": {
			&gpuPod{status: `{"phase":"Failed","message":"no CUDA-capable device is detected"}`},
			"the pod em-infra-gpu-gpu-1 failed on its GPU (no CUDA-capable device is detected): run it by hand to see its log, then run up again",
		},
		"is refused": {
			&gpuPod{refused: true},
			"the pod that tries the GPU of gpu-1 is refused (403 Forbidden): see what refuses it, then run up again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := powerOn(t)
			m.bringUp()
			m.serveAPI(test.pod)
			err := nodeops.RunOnGPU(t.Context(), talosconfigOf(t, secretsOf(t, ours), m.address), "gpu-1", "registry.example/vectoradd:1")
			if test.err != "" {
				require.EqualError(t, err, test.err)
			} else {
				require.NoError(t, err)
				require.JSONEq(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"em-infra-gpu-gpu-1","labels":{"app.kubernetes.io/managed-by":"em-infra"}},
					"spec":{"restartPolicy":"Never","runtimeClassName":"nvidia","nodeSelector":{"kubernetes.io/hostname":"gpu-1"},
					"tolerations":[{"operator":"Exists"}],
					"containers":[{"name":"gpu","image":"registry.example/vectoradd:1","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}`, string(test.pod.asked))
			}
			require.False(t, test.pod.there)
		})
	}
}

func TestAPodThatTriesTheGPUIsRemovedAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	pod := &gpuPod{status: `{"phase":"Running"}`, looked: interrupt}
	m := powerOn(t)
	m.bringUp()
	m.serveAPI(pod)
	err := nodeops.RunOnGPU(ctx, talosconfigOf(t, secretsOf(t, ours), m.address), "gpu-1", "registry.example/vectoradd:1")
	require.EqualError(t, err, "waiting for pod em-infra-gpu-gpu-1: context canceled")
	require.False(t, pod.there)
}
