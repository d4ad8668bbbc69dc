package machinesecrets_test

import (
	"encoding/base64"
	"encoding/pem"
	"regexp"
	"testing"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/generate/secrets"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/operator/internal/machinesecrets"
)

var renewedAt = time.Date(2026, 11, 24, 9, 0, 0, 0, time.UTC)

// born returns the secrets of a cluster that was made with a contract.
func born(t *testing.T, contract *config.VersionContract) (machinesecrets.Bundle, *secrets.Bundle) {
	t.Helper()
	made, err := secrets.NewBundle(secrets.NewFixedClock(renewedAt), contract)
	require.NoError(t, err)
	text, err := yaml.Marshal(made)
	require.NoError(t, err)
	bundle, err := machinesecrets.Parse(text)
	require.NoError(t, err)
	return bundle, made
}

func TestASigningKeyIsReplacedByOneOfItsKind(t *testing.T) {
	t.Parallel()
	for kind, contract := range map[string]*config.VersionContract{"RSA PRIVATE KEY": config.TalosVersion1_12, "EC PRIVATE KEY": config.TalosVersion1_2} {
		bundle, made := born(t, contract)
		renewed, err := bundle.RenewAccountKey(renewedAt)
		require.NoError(t, err)
		require.Equal(t, base64.StdEncoding.EncodeToString(made.Certs.K8sServiceAccount.Key), renewed.Old)
		text, err := base64.StdEncoding.DecodeString(renewed.New)
		require.NoError(t, err)
		block, _ := pem.Decode(text)
		require.Equal(t, kind, block.Type)
		require.NotEqual(t, renewed.Old, renewed.New)
	}
}

func TestJoinTokensAreReplaced(t *testing.T) {
	t.Parallel()
	bundle, made := born(t, config.TalosVersion1_6)
	tokens, err := bundle.RenewJoinTokens(renewedAt)
	require.NoError(t, err)
	require.Equal(t, made.TrustdInfo.Token, tokens.Machine.Old)
	require.Equal(t, made.Secrets.BootstrapToken, tokens.Kubelet.Old)
	form := regexp.MustCompile(`^[a-z0-9]{6}\.[a-z0-9]{16}$`) // kubernetes v1.35, cluster-bootstrap/token/api
	seen := map[string]bool{}
	for _, token := range []string{tokens.Machine.Old, tokens.Machine.New, tokens.Kubelet.Old, tokens.Kubelet.New} {
		require.Regexp(t, form, token)
		require.False(t, seen[token])
		seen[token] = true
	}
}

func TestTheKeyForSecretsIsReplacedWhereTalosCan(t *testing.T) {
	t.Parallel()
	bundle, made := born(t, config.TalosVersion1_2)
	renewed, err := bundle.RenewEncryptionKey(renewedAt)
	require.NoError(t, err)
	require.Equal(t, made.Secrets.AESCBCEncryptionSecret, renewed.Old)
	key, err := base64.StdEncoding.DecodeString(renewed.New)
	require.NoError(t, err)
	require.Len(t, key, 32)

	bundle, _ = born(t, config.TalosVersion1_6)
	_, err = bundle.RenewEncryptionKey(renewedAt)
	require.Equal(t, machinesecrets.ErrNoSecondKey, err)
}
