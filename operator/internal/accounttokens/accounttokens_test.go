package accounttokens_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/em-infra/em-infra/operator/internal/accounttokens"
)

// short is the limit of waits for what never comes.
const short = 10 * time.Millisecond

func object(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func TestTokensInSecretsAreRenewed(t *testing.T) {
	t.Parallel()
	api := fake.NewSimpleClientset(&corev1.Secret{
		ObjectMeta: object("apps", "robot"), Type: corev1.SecretTypeServiceAccountToken,
		Data: map[string][]byte{"token": []byte("former"), "ca.crt": []byte("kept")},
	})
	count, err := accounttokens.RenewSecrets(t.Context(), api, short)
	require.EqualError(t, err, "the controller manager has not written a token into the Secret apps/robot")
	require.Equal(t, 1, count)

	api.PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) { // as the controller manager does
		written := action.(clienttesting.UpdateAction).GetObject().(*corev1.Secret)
		require.NotContains(t, written.Data, "token")
		written.Data["token"] = []byte("new")
		return true, written, api.Tracker().Update(corev1.SchemeGroupVersion.WithResource("secrets"), written, "apps")
	})
	_, err = accounttokens.RenewSecrets(t.Context(), api, short)
	require.NoError(t, err)
	secret, err := api.CoreV1().Secrets("apps").Get(t.Context(), "robot", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"token": []byte("new"), "ca.crt": []byte("kept")}, secret.Data)
}

func TestWorkloadsAreRestartedOnce(t *testing.T) {
	t.Parallel()
	deployment := &appsv1.Deployment{ObjectMeta: object("kube-system", "coredns"), Status: appsv1.DeploymentStatus{UpdatedReplicas: 1, AvailableReplicas: 1, Replicas: 1}}
	byHand := &appsv1.DaemonSet{ObjectMeta: object("kube-system", "careful"), Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}}}
	other := &appsv1.Deployment{ObjectMeta: object("apps", "web")}
	api := fake.NewSimpleClientset(deployment, &appsv1.DaemonSet{ObjectMeta: object("kube-system", "kube-proxy")}, byHand, other,
		&appsv1.StatefulSet{ObjectMeta: object("flux-system", "store"), Status: appsv1.StatefulSetStatus{UpdatedReplicas: 1, AvailableReplicas: 1}})
	at := time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)
	restart := func() accounttokens.Restarted {
		restarted, err := accounttokens.Restart(t.Context(), api, []string{"kube-system", "flux-system", "not-there"}, at, short)
		require.NoError(t, err)
		return restarted
	}
	require.Equal(t, accounttokens.Restarted{Workloads: 3, Left: []string{"DaemonSet kube-system/careful"}}, restart())
	seen := len(api.Actions())
	restart()
	for _, action := range api.Actions()[seen:] {
		require.Equal(t, "list", action.GetVerb(), "what was restarted for the same rotation is not restarted again")
	}
	changed, err := api.AppsV1().Deployments("kube-system").Get(t.Context(), "coredns", metav1.GetOptions{})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-11-24T09:00:00Z"}, changed.Spec.Template.Annotations)
	untouched, err := api.AppsV1().Deployments("apps").Get(t.Context(), "web", metav1.GetOptions{})
	require.NoError(t, err)
	require.Empty(t, untouched.Spec.Template.Annotations)

	changed.Status.AvailableReplicas = 0
	_, err = api.AppsV1().Deployments("kube-system").UpdateStatus(t.Context(), changed, metav1.UpdateOptions{})
	require.NoError(t, err)
	_, err = accounttokens.Restart(t.Context(), api, []string{"kube-system"}, at, short)
	require.EqualError(t, err, "Deployment kube-system/coredns has not rolled out: `kubectl get pods -n kube-system -o wide` shows what its pods lack")
}

// TestWorkloadsThatDoNotRollOutByThemselves: a pause is left to the person who made it, and pods below a partition keep the former template.
func TestWorkloadsThatDoNotRollOutByThemselves(t *testing.T) {
	t.Parallel()
	two, one := int32(2), int32(1)
	paused := &appsv1.Deployment{ObjectMeta: object("kube-system", "paused"), Spec: appsv1.DeploymentSpec{Paused: true}}
	parted := &appsv1.StatefulSet{
		ObjectMeta: object("kube-system", "parted"),
		Spec: appsv1.StatefulSetSpec{Replicas: &two, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
			Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &one},
		}},
		Status: appsv1.StatefulSetStatus{UpdatedReplicas: 1, AvailableReplicas: 2},
	}
	restarted, err := accounttokens.Restart(t.Context(), fake.NewSimpleClientset(paused, parted), []string{"kube-system"}, time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC), short)
	require.NoError(t, err)
	require.Equal(t, accounttokens.Restarted{Workloads: 1, Left: []string{"Deployment kube-system/paused", "StatefulSet kube-system/parted (pods below the partition)"}}, restarted)
}

// TestNodesThatAreLostAreForgotten, so that no DaemonSet waits for its pods there.
func TestNodesThatAreLostAreForgotten(t *testing.T) {
	t.Parallel()
	lost := nodeThat("worker-2", corev1.ConditionUnknown)
	api := fake.NewSimpleClientset(nodeThat("worker-1", corev1.ConditionTrue), lost)
	names, err := accounttokens.LostNodes(t.Context(), api, []string{"worker-2", "worker-3"}, short)
	require.NoError(t, err)
	require.Equal(t, []string{"worker-2"}, names)
	require.NoError(t, accounttokens.ForgetNodes(t.Context(), api, append(names, "worker-3")))
	left, err := api.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, left.Items, 1)
	require.Equal(t, "worker-1", left.Items[0].Name)

	api.PrependReactor("delete", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("refused") })
	require.EqualError(t, accounttokens.ForgetNodes(t.Context(), api, []string{"worker-1"}), "delete the Node worker-1: refused")
}

// TestANodeThatLivesIsNotLost: its machine does not answer here, and the API server hears from it.
func TestANodeThatLivesIsNotLost(t *testing.T) {
	t.Parallel()
	api := fake.NewSimpleClientset(nodeThat("worker-1", corev1.ConditionTrue), nodeThat("worker-2", corev1.ConditionFalse))
	_, err := accounttokens.LostNodes(t.Context(), api, []string{"worker-1", "worker-2"}, short)
	require.EqualError(t, err, "the Node worker-1 is Ready, so the API server hears from its machine, which runs on with the former secrets: stop it")

	api.PrependReactor("get", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("refused") })
	_, err = accounttokens.LostNodes(t.Context(), api, []string{"worker-1"}, short)
	require.EqualError(t, err, "read the Node worker-1: refused")
}

func nodeThat(name string, ready corev1.ConditionStatus) *corev1.Node {
	return &corev1.Node{ObjectMeta: object("", name), Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}}}
}

// server returns an API server that issues a token of a key and accepts those of that key.
func server(name, key string) accounttokens.APIServer {
	api := fake.NewSimpleClientset()
	api.PrependReactor("create", "serviceaccounts", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{Token: key}}, nil
	})
	api.PrependReactor("create", "tokenreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authenticationv1.TokenReview)
		review.Status.Authenticated = review.Spec.Token == key
		if !review.Status.Authenticated {
			review.Status.Error = "invalid bearer token"
		}
		return true, review, nil
	})
	return accounttokens.APIServer{Name: name, API: api}
}

func TestAllControlPlanesHaveOneKey(t *testing.T) {
	t.Parallel()
	require.NoError(t, accounttokens.Accepted(t.Context(), []accounttokens.APIServer{server("control-1", "b"), server("control-2", "b")}))
	require.EqualError(t, accounttokens.Accepted(t.Context(), []accounttokens.APIServer{server("control-1", "b"), server("control-2", "a")}),
		"the API server on control-2 does not accept a token of that on control-1: invalid bearer token")
}

func TestNamespacesWithTokens(t *testing.T) {
	t.Parallel()
	pod := func(namespace string, phase corev1.PodPhase, withToken bool) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: object(namespace, "pod"), Status: corev1.PodStatus{Phase: phase}}
		if withToken {
			p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
				Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}},
			}}}}
		}
		return p
	}
	api := fake.NewSimpleClientset(pod("kube-system", corev1.PodRunning, true), pod("web", corev1.PodRunning, true),
		pod("done", corev1.PodSucceeded, true), pod("static", corev1.PodRunning, false), pod("apps", corev1.PodPending, true))
	found, err := accounttokens.Elsewhere(t.Context(), api, []string{"kube-system"})
	require.NoError(t, err)
	require.Equal(t, []string{"apps", "web"}, found)
}

// A limit that is over does not hide why a wait has ended.
func TestAnInterruptEndsAWait(t *testing.T) {
	t.Parallel()
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	api := fake.NewSimpleClientset(&corev1.Secret{ObjectMeta: object("apps", "robot"), Type: corev1.SecretTypeServiceAccountToken})
	_, err := accounttokens.RenewSecrets(ctx, api, time.Hour)
	require.Equal(t, why, err)
}
