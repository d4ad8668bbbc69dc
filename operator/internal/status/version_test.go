package status_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAKubeletOfAnotherVersionIsSaid(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ runs, wanted, text string }{
		{"v1.35.4", "v1.35.4", ""},
		{"v1.34.1", "v1.35.4", "Kubernetes    k3s-dev-gpu-1 runs v1.34.1, the inventory says v1.35.4: `em-infra up` brings it there\n"},
		{"v1.36.1", "v1.35.4", "Kubernetes    k3s-dev-gpu-1 runs v1.36.1, the inventory says v1.35.4, and Kubernetes never goes back: set kubernetes.version to v1.36.1\n"},
		{"of-my-own", "v1.35.4", ""},
	} {
		r := wellReport()
		r.Machines[1].Kubernetes.Kubelet, r.Machines[1].WantedKubernetes = test.runs, test.wanted
		var text strings.Builder
		require.NoError(t, r.WriteText(&text))
		_, after, _ := strings.Cut(text.String(), "22:15:00\n")
		require.Equal(t, test.text, after)
	}
}
