package components_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/recorder"
)

// TestTheSecretOfASourceHasANameOfItsOwn: the engine would find two resources of one name after it has begun.
func TestTheSecretOfASourceHasANameOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, secret, want string }{
		{"its own", "git", ""},
		{"none", "", "Flux.Git.Credentials.SecretName: name the Secret"},
		{"that of the age key", "sops-age", `Flux.Git.Credentials.SecretName: "sops-age" is the name of the Secret of Flux.AgeKey: give another one`},
		{"that of TrueNAS", "truenas-api", `Flux.Git.Credentials.SecretName: "truenas-api" is the name of the Secret of TrueNAS: give another one`},
		{"that of the driver", "truenas-api-credentials", `Flux.Git.Credentials.SecretName: "truenas-api-credentials" is the name of the Secret of TrueNAS.CSI: give another one`},
		{"that of the bucket", "etcd-backup-bucket", `Flux.Git.Credentials.SecretName: "etcd-backup-bucket" is the name of the Secret of EtcdBackup: give another one`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			addons := everyAddon()
			addons.Flux.Git.Credentials.SecretName = test.secret
			err := refusal(t, discard(withAddons("k3s-dev", addons)))
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, `cluster addons "k3s-dev-addons": `+test.want)
		})
	}
}

// TestClassesHaveNamesOfTheirOwn, for the same reason.
func TestClassesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	addons := everyAddon()
	addons.TrueNAS.CSI.Classes = append(addons.TrueNAS.CSI.Classes, addons.TrueNAS.CSI.Classes[0])
	require.ErrorContains(t, refusal(t, discard(withAddons("k3s-dev", addons))),
		`Name: "`+addons.TrueNAS.CSI.Classes[0].Name+`" is there twice: give each class a name of its own`)
}

// TestASecretInAPrivilegedNamespace: the namespace of an operator is made once, for privileged pods, although another addon comes first.
func TestASecretInAPrivilegedNamespace(t *testing.T) {
	t.Parallel()
	addons := everyAddon()
	operator := chart("https://charts.example")
	addons.GPU = &components.GPUSupport{Operator: &operator}
	addons.TrueNAS.Namespace = nodeops.GPUOperatorNamespace
	r, err := run(t, false, discard(withAddons("k3s-dev", addons)))
	require.NoError(t, err)
	require.Equal(t, map[string]bool{
		"etcd-backup": false, "flux-system": false, "gpu-operator": true, "truenas-csi": true,
	}, privilegedNamespaces(t, r))
}

// privilegedNamespaces returns for each namespace whether its pods may be privileged.
func privilegedNamespaces(t *testing.T, r *recorder.Recorder) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, args := range r.Resources {
		if args.TypeToken != "kubernetes:core/v1:Namespace" {
			continue
		}
		metadata := args.Inputs["metadata"].ObjectValue().Mappable()
		labels, _ := metadata["labels"].(map[string]any)
		require.NotContains(t, found, metadata["name"], "the engine would refuse a second one")
		found[metadata["name"].(string)] = labels["pod-security.kubernetes.io/enforce"] == "privileged"
	}
	return found
}
