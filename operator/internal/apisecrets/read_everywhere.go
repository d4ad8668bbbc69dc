package apisecrets

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/em-infra/em-infra/operator/internal/accounttokens"
)

// probe is the name of the Secret that is written, read and deleted.
const probe = "em-infra-encryption-key"

// ReadEverywhere returns nil if each API server reads a Secret that each of them writes: all of them have the key of each.
func ReadEverywhere(ctx context.Context, servers []accounttokens.APIServer) error {
	for _, writer := range servers {
		if err := readFrom(ctx, writer, servers); err != nil {
			return err
		}
	}
	return nil
}

func readFrom(ctx context.Context, writer accounttokens.APIServer, readers []accounttokens.APIServer) error {
	secrets := writer.API.CoreV1().Secrets(metav1.NamespaceSystem)
	if err := secrets.Delete(ctx, probe, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("the API server on %s does not delete a Secret: %w", writer.Name, err)
	}
	if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: probe}}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("the API server on %s does not write a Secret: %w", writer.Name, err)
	}
	for _, reader := range readers {
		if _, err := reader.API.CoreV1().Secrets(metav1.NamespaceSystem).Get(ctx, probe, metav1.GetOptions{}); err != nil {
			return fmt.Errorf("the API server on %s does not read what that on %s has written: %w", reader.Name, writer.Name, err)
		}
	}
	return secrets.Delete(ctx, probe, metav1.DeleteOptions{})
}
