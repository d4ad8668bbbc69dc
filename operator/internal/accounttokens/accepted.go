package accounttokens

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// APIServer is that of one control plane, at its own address.
type APIServer struct {
	// Name of the control plane.
	Name string
	// API is a client for it.
	API kubernetes.Interface
}

// Accepted returns nil if each API server accepts a token that each of them issues: all of them have the same key.
func Accepted(ctx context.Context, servers []APIServer) error {
	for _, issuer := range servers {
		request, err := issuer.API.CoreV1().ServiceAccounts(metav1.NamespaceSystem).CreateToken(ctx, "default", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("the API server on %s issues no token: %w", issuer.Name, err)
		}
		for _, server := range servers {
			review, err := server.API.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
				Spec: authenticationv1.TokenReviewSpec{Token: request.Status.Token},
			}, metav1.CreateOptions{})
			if err == nil && !review.Status.Authenticated {
				err = errors.New(review.Status.Error)
			}
			if err != nil {
				return fmt.Errorf("the API server on %s does not accept a token of that on %s: %w", server.Name, issuer.Name, err)
			}
		}
	}
	return nil
}
