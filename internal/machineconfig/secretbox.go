package machineconfig

import (
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// LacksSecretbox reports whether configurations of a contract are generated with the key of aescbc for Secrets alone, so that a key of secretbox has
// to come as a patch (machinery v1.12.4, config/generate/init.go). It returns false for a text that is no contract; other checks report that.
func LacksSecretbox(contract string) bool {
	parsed, err := config.ParseContractFromVersion(contract)
	return err == nil && !parsed.SecretboxEncryptionSupported()
}

// Secretbox returns the patch with the cluster's key of secretbox, which is secret. For an empty key, the patch changes nothing.
func Secretbox(key string) (string, error) {
	if key == "" {
		return "cluster: {}\n", nil
	}
	return encode(&v1alpha1.Config{ClusterConfig: &v1alpha1.ClusterConfig{ClusterSecretboxEncryptionSecret: key}})
}
