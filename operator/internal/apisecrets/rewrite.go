// Package apisecrets changes the Secrets of a cluster for a rotation of its keys: it has the API server seal all of them anew, and forgets
// the tokens with which kubelets joined before.
package apisecrets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// page is how many Secrets are listed at once.
const page = 200

// attempts limits how often a Secret is read and written again because other clients write it at the same time.
const attempts = 10

// Rewrite writes each Secret as it is, and returns how many there are. The API server seals with the first provider of its configuration; it
// writes a value that is the same only if another provider has sealed it (kubernetes v1.35, apiserver/pkg/storage/etcd3/store.go,
// GuaranteedUpdate, origState.stale), so a second call changes nothing.
func Rewrite(ctx context.Context, api kubernetes.Interface) (int, error) {
	count, options := 0, metav1.ListOptions{Limit: page}
	for {
		list, err := api.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, options)
		if apierrors.IsResourceExpired(err) { // the listing took longer than etcd keeps the revision that it began with
			count, options.Continue = 0, ""
			continue
		}
		if err != nil {
			return count, fmt.Errorf("list the Secrets: %w", err)
		}
		for i := range list.Items {
			if err := rewrite(ctx, api, &list.Items[i]); err != nil {
				return count, fmt.Errorf("write the Secret %s/%s anew: %w", list.Items[i].Namespace, list.Items[i].Name, err)
			}
			count++
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return count, nil
		}
	}
}

// rewrite writes one Secret. Its resourceVersion has the API server refuse to undo what another client has written since.
func rewrite(ctx context.Context, api kubernetes.Interface, secret *corev1.Secret) error {
	secrets := api.CoreV1().Secrets(secret.Namespace)
	for left := attempts; ; left-- {
		_, err := secrets.Update(ctx, secret, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) && left > 0 {
			if secret, err = secrets.Get(ctx, secret.Name, metav1.GetOptions{}); err == nil {
				continue
			}
		}
		if apierrors.IsNotFound(err) {
			return nil // deleted in the meantime
		}
		return err
	}
}
