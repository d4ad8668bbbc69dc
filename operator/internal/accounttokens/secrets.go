// Package accounttokens replaces the tokens of service accounts after the key that signs them has changed: API servers refuse all that the
// former key has signed.
package accounttokens

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/em-infra/em-infra/internal/poll"
)

// interval is the longest time between two looks at something that Kubernetes does.
const interval = time.Second

// tokenSecrets are the Secrets in which Kubernetes keeps tokens without an end.
var tokenSecrets = metav1.ListOptions{FieldSelector: "type=" + string(corev1.SecretTypeServiceAccountToken)}

// RenewSecrets has Kubernetes write a new token into each Secret that has one, and returns how many there are. It empties them, and the
// controller manager fills them again (kubernetes v1.35, pkg/controller/serviceaccount/tokens_controller.go, secretUpdateNeeded).
// A second call makes further tokens.
func RenewSecrets(ctx context.Context, api kubernetes.Interface, limit time.Duration) (int, error) {
	list, err := api.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, tokenSecrets)
	if err != nil {
		return 0, fmt.Errorf("list the Secrets with tokens: %w", err)
	}
	for i := range list.Items {
		if err := empty(ctx, api, &list.Items[i]); err != nil {
			return 0, fmt.Errorf("renew the token in the Secret %s/%s: %w", list.Items[i].Namespace, list.Items[i].Name, err)
		}
	}
	return len(list.Items), filled(ctx, api, limit)
}

// attempts limits how often emptying a Secret is repeated because another client writes it at the same time.
const attempts = 10

func empty(ctx context.Context, api kubernetes.Interface, secret *corev1.Secret) error {
	secrets := api.CoreV1().Secrets(secret.Namespace)
	for left := attempts; ; left-- {
		delete(secret.Data, corev1.ServiceAccountTokenKey)
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

// filled waits until each Secret of that type has a token.
func filled(ctx context.Context, api kubernetes.Interface, limit time.Duration) error {
	return within(ctx, limit, func(ctx context.Context) error {
		list, err := api.CoreV1().Secrets(metav1.NamespaceAll).List(ctx, tokenSecrets)
		if err != nil {
			return err
		}
		for _, secret := range list.Items {
			if len(secret.Data[corev1.ServiceAccountTokenKey]) == 0 && secret.DeletionTimestamp == nil {
				return fmt.Errorf("the controller manager has not written a token into the Secret %s/%s", secret.Namespace, secret.Name)
			}
		}
		return nil
	})
}

// within waits until a condition holds. The error is the last reason why it did not hold, or why ctx has ended.
func within(ctx context.Context, limit time.Duration, holds func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	last := errors.New("no answer")
	if poll.Until(limited, interval, func(context.Context) (bool, error) {
		last = holds(ctx)
		return last == nil, nil
	}) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return last
}
