package machinesecrets

import (
	"encoding/base64"
	"errors"
	"time"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
)

// Renewed is a secret of a bundle and a new one of its kind, both as the state has them.
type Renewed struct {
	// Old is the one of the bundle.
	Old string
	// New is the one that Talos' own generator has made.
	New string
}

// ErrNoSecondKey means that Talos cannot give an API server two keys of secretbox at a time.
var ErrNoSecondKey = errors.New("the Secrets are sealed with secretbox, and Talos up to 1.13 gives an API server one key of it at a time: with another one it could read none of them")

// fresh returns new secrets, whose key of service accounts is of the kind that a contract has.
func fresh(now time.Time, contract *config.VersionContract) (*secrets.Bundle, error) {
	return secrets.NewBundle(secrets.NewFixedClock(now), contract)
}

// RenewAccountKey returns the key with which tokens of service accounts are signed, and a new one of the same algorithm.
func (b Bundle) RenewAccountKey(now time.Time) (Renewed, error) {
	former := b.bundle.Certs.K8sServiceAccount
	parsed, err := former.GetKey()
	if err != nil {
		return Renewed{}, ErrIncomplete
	}
	contract := config.TalosVersion1_6 // ECDSA
	if _, isRSA := parsed.(*x509.RSAKey); isRSA {
		contract = config.TalosVersion1_12
	}
	made, err := fresh(now, contract)
	if err != nil {
		return Renewed{}, err
	}
	return Renewed{Old: encoded(former.Key), New: encoded(made.Certs.K8sServiceAccount.Key)}, nil
}

func encoded(pem []byte) string { return base64.StdEncoding.EncodeToString(pem) }

// JoinTokens are those with which machines join: a node asks for its certificate of the Talos API with the first, and its kubelet joins
// Kubernetes with the second.
type JoinTokens struct{ Machine, Kubelet Renewed }

// RenewJoinTokens returns the tokens, and new ones. Two that are the same stay the same.
func (b Bundle) RenewJoinTokens(now time.Time) (JoinTokens, error) {
	made, err := fresh(now, config.TalosVersion1_6)
	if err != nil {
		return JoinTokens{}, err
	}
	tokens := JoinTokens{
		Machine: Renewed{Old: b.bundle.TrustdInfo.Token, New: made.TrustdInfo.Token},
		Kubelet: Renewed{Old: b.bundle.Secrets.BootstrapToken, New: made.Secrets.BootstrapToken},
	}
	if tokens.Machine.Old == tokens.Kubelet.Old {
		tokens.Kubelet.New = tokens.Machine.New
	}
	return tokens, nil
}

// RenewEncryptionKey returns the key of aescbc with which Secrets are sealed, and a key of secretbox in its place. It returns
// [ErrNoSecondKey] if they are sealed with secretbox already.
func (b Bundle) RenewEncryptionKey(now time.Time) (Renewed, error) {
	if b.bundle.Secrets.SecretboxEncryptionSecret != "" {
		return Renewed{}, ErrNoSecondKey
	}
	made, err := fresh(now, config.TalosVersion1_6)
	if err != nil {
		return Renewed{}, err
	}
	return Renewed{Old: b.bundle.Secrets.AESCBCEncryptionSecret, New: made.Secrets.SecretboxEncryptionSecret}, nil
}

// SealsWithAESCBC reports whether Secrets are sealed with a key of aescbc, for which one of secretbox can be exchanged.
func (b Bundle) SealsWithAESCBC() bool { return b.bundle.Secrets.SecretboxEncryptionSecret == "" }
