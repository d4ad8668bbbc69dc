package apisecrets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// ErrNotThere means that the cluster does not know a token yet.
var ErrNotThere = errors.New("Talos has not written the new token into the cluster yet") //nolint:staticcheck // Talos is a name

// bootstrapSecret returns the name of the Secret of a token, ID.SECRET (talos v1.12.4, k8stemplates/kubelet.go).
func bootstrapSecret(token string) string {
	id, _, _ := strings.Cut(token, ".")
	return "bootstrap-token-" + id
}

// ForgetBootstrapToken deletes a token with which kubelets joined. Talos makes the Secret of a new one and leaves that of the former, which never
// expires (talos v1.12.4, k8stemplates/kubelet.go). It returns [ErrNotThere] if the cluster does not have the one that takes its place.
func ForgetBootstrapToken(ctx context.Context, api kubernetes.Interface, former, next string) error {
	secrets := api.CoreV1().Secrets(metav1.NamespaceSystem)
	switch _, err := secrets.Get(ctx, bootstrapSecret(next), metav1.GetOptions{}); {
	case apierrors.IsNotFound(err):
		return ErrNotThere
	case err != nil:
		return fmt.Errorf("look for the new token of joining kubelets: %w", err)
	}
	if err := secrets.Delete(ctx, bootstrapSecret(former), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete the former token of joining kubelets: %w", err)
	}
	return nil
}
