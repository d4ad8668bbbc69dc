package apisecrets_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/em-infra/em-infra/operator/internal/accounttokens"
	"github.com/em-infra/em-infra/operator/internal/apisecrets"
)

func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// TestRewriteSurvivesOthers: one Secret is written by another client at the same time, and one is deleted.
func TestRewriteSurvivesOthers(t *testing.T) {
	t.Parallel()
	api := fake.NewSimpleClientset(secret("a", "quiet"), secret("a", "busy"), secret("b", "gone"))
	var written []string
	conflicts := 2
	api.PrependReactor("update", "secrets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		object := action.(clienttesting.UpdateAction).GetObject().(*corev1.Secret)
		kind := corev1.Resource("secrets")
		switch {
		case object.Name == "gone":
			return true, nil, apierrors.NewNotFound(kind, "gone")
		case object.Name == "busy" && conflicts > 0:
			conflicts--
			return true, nil, apierrors.NewConflict(kind, "busy", nil)
		}
		written = append(written, object.Name)
		return true, object, nil
	})
	count, err := apisecrets.Rewrite(t.Context(), api)
	require.NoError(t, err)
	require.Equal(t, 3, count)
	require.ElementsMatch(t, []string{"quiet", "busy"}, written)

	conflicts = 100
	_, err = apisecrets.Rewrite(t.Context(), api)
	require.ErrorContains(t, err, "write the Secret a/busy anew: ")
}

func TestTheFormerBootstrapTokenIsForgottenWhenTheNextIsThere(t *testing.T) {
	t.Parallel()
	const former, next = "aaaaaa.0123456789abcdef", "bbbbbb.0123456789abcdef"
	api := fake.NewSimpleClientset(secret("kube-system", "bootstrap-token-aaaaaa"))
	require.Equal(t, apisecrets.ErrNotThere, apisecrets.ForgetBootstrapToken(t.Context(), api, former, next))
	require.True(t, has(t.Context(), api, "bootstrap-token-aaaaaa"))

	_, err := api.CoreV1().Secrets("kube-system").Create(t.Context(), secret("kube-system", "bootstrap-token-bbbbbb"), metav1.CreateOptions{})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, apisecrets.ForgetBootstrapToken(t.Context(), api, former, next))
		require.False(t, has(t.Context(), api, "bootstrap-token-aaaaaa"))
		require.True(t, has(t.Context(), api, "bootstrap-token-bbbbbb"))
	}
}

func has(ctx context.Context, api *fake.Clientset, name string) bool {
	_, err := api.CoreV1().Secrets("kube-system").Get(ctx, name, metav1.GetOptions{})
	return err == nil
}

// TestAllControlPlanesReadWhatOneWrites: one that lacks a key reports that none of its providers fits the value.
func TestAllControlPlanesReadWhatOneWrites(t *testing.T) {
	t.Parallel()
	api := fake.NewSimpleClientset(secret("kube-system", "em-infra-encryption-key")) // of a run that was killed
	servers := []accounttokens.APIServer{{Name: "control-1", API: api}, {Name: "control-2", API: api}}
	require.NoError(t, apisecrets.ReadEverywhere(t.Context(), servers))
	require.False(t, has(t.Context(), api, "em-infra-encryption-key"))

	blind := fake.NewSimpleClientset()
	blind.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewInternalError(errors.New("no matching prefix found"))
	})
	servers[1].API = blind
	require.EqualError(t, apisecrets.ReadEverywhere(t.Context(), servers),
		"the API server on control-2 does not read what that on control-1 has written: Internal error occurred: no matching prefix found")
}
