package components_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/recorder"
)

const tokenCronJob = "kubernetes:batch/v1:CronJob"

// cronJob returns the CronJob of addons, read as the API server reads it: a field that it does not know is an error.
func cronJob(t *testing.T, addons components.ClusterAddonsArgs) batchv1.CronJob {
	t.Helper()
	r, err := run(t, false, discard(withAddons("k3s-dev", addons)))
	require.NoError(t, err)
	text, err := json.Marshal(r.Named(t, tokenCronJob, "k3s-dev-addons-etcd-backup").Inputs.Mappable())
	require.NoError(t, err)
	var job batchv1.CronJob
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&job))
	return job
}

func TestTheCronJobOfSnapshots(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	inputs, err := recorder.Inputs(r.Named(t, tokenCronJob, "k3s-dev-addons-etcd-backup"))
	require.NoError(t, err)
	golden.Equal(t, "testdata/inputs/etcd-backup.json", inputs)

	job := cronJob(t, everyAddon())
	require.Equal(t, batchv1.ForbidConcurrent, job.Spec.ConcurrencyPolicy)
	require.NotNil(t, job.Spec.JobTemplate.Spec.ActiveDeadlineSeconds, "a run that hangs would keep all later ones away")
	require.NotContains(t, inputs, "made-up secret key")
}

// TestTheCronJobFitsTheStandardRestricted of Pod Security, and leaves no snapshot in clear on a worker.
func TestTheCronJobFitsTheStandardRestricted(t *testing.T) {
	t.Parallel()

	pod := cronJob(t, everyAddon()).Spec.JobTemplate.Spec.Template.Spec
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	require.False(t, *pod.AutomountServiceAccountToken)
	require.Len(t, pod.Containers, 1)
	context := pod.Containers[0].SecurityContext
	require.False(t, *context.AllowPrivilegeEscalation)
	require.True(t, *context.ReadOnlyRootFilesystem)
	require.Equal(t, []corev1.Capability{"ALL"}, context.Capabilities.Drop)
	for _, volume := range pod.Volumes {
		require.Nil(t, volume.HostPath, volume.Name)
	}
	require.Equal(t, map[string]string{"node-role.kubernetes.io/control-plane": ""}, pod.NodeSelector)
	require.Equal(t, []corev1.Toleration{{Key: "node-role.kubernetes.io/control-plane", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}, pod.Tolerations)
}

// TestTheSecretOfTheTalosAPIIsMadeByTalos: Talos refuses a Secret that it has not made itself.
func TestTheSecretOfTheTalosAPIIsMadeByTalos(t *testing.T) {
	t.Parallel()

	r, err := run(t, false, discard(withAddons("k3s-dev", everyAddon())))
	require.NoError(t, err)
	account := r.Named(t, "kubernetes:talos.dev/v1alpha1:ServiceAccount", "k3s-dev-addons-etcd-backup-account").Inputs
	require.Equal(t, map[string]any{"roles": []any{"os:etcd:backup"}}, account["spec"].Mappable())
	made := account["metadata"].Mappable().(map[string]any)
	require.Equal(t, map[string]any{"name": "etcd-backup-talos", "namespace": components.EtcdBackupNamespace}, made)
	for _, args := range inAddons(r) {
		if args.TypeToken == tokenSecret {
			require.NotEqual(t, resource.NewStringProperty("etcd-backup-talos"), args.Inputs["metadata"].ObjectValue()["name"], args.Name)
		}
	}
	var mounted string
	for _, volume := range cronJob(t, everyAddon()).Spec.JobTemplate.Spec.Template.Spec.Volumes {
		if volume.Secret != nil {
			mounted = volume.Secret.SecretName
		}
	}
	require.Equal(t, made["name"], mounted)
}

// TestSettingsOfTheBucket: what is not given has no variable, and talos-backup v0.1.0-beta.3 reads "false" as path style.
func TestSettingsOfTheBucket(t *testing.T) {
	t.Parallel()

	addons := everyAddon()
	addons.EtcdBackup.Endpoint, addons.EtcdBackup.PathStyle = "", false
	settings := func(addons components.ClusterAddonsArgs) map[string]string {
		found := map[string]string{}
		for _, variable := range cronJob(t, addons).Spec.JobTemplate.Spec.Template.Spec.Containers[0].Env {
			found[variable.Name] = variable.Value
		}
		return found
	}
	want := map[string]string{
		"AGE_X25519_PUBLIC_KEY": "age1made-up", "AWS_REGION": "garage", "BUCKET": "backups", "CLUSTER_NAME": "k3s-dev", "HOME": "/tmp", "S3_PREFIX": "home/k3s-dev/etcd",
	}
	require.Equal(t, want, settings(addons))
	want["CUSTOM_S3_ENDPOINT"], want["USE_PATH_STYLE"] = "http://nas.example:3900", "false"
	require.Equal(t, want, settings(everyAddon()))
}
