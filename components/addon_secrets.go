package components

import (
	"errors"
	"fmt"
)

// addonSecret is the name of a Secret that an addon makes, and the argument that causes it.
type addonSecret struct{ name, argument string }

// ownSecrets returns the Secrets whose names the caller cannot choose.
func (args *ClusterAddonsArgs) ownSecrets() []addonSecret {
	var secrets []addonSecret
	if args.Flux != nil && args.Flux.AgeKey != nil {
		secrets = append(secrets, addonSecret{ageSecret, "Flux.AgeKey"})
	}
	if args.TrueNAS != nil {
		secrets = append(secrets, addonSecret{truenasSecret, "TrueNAS"})
		if args.TrueNAS.CSI != nil {
			secrets = append(secrets, addonSecret{csiSecret, "TrueNAS.CSI"})
		}
	}
	if args.EtcdBackup != nil {
		secrets = append(secrets, addonSecret{bucketSecret, "EtcdBackup"})
	}
	return secrets
}

// requireOwnSecret refuses credentials of a source whose Secret has the name of another Secret of the addons: a Secret is registered by its name
// alone, regardless of its namespace.
func (args *ClusterAddonsArgs) requireOwnSecret() error {
	credentials := args.Flux.credentials()
	if credentials == nil {
		return nil
	}
	at := "Flux.Git.Credentials.SecretName"
	if args.Flux.Git == nil {
		at = "Flux.OCI.Credentials.SecretName"
	}
	problems := []error{require(credentials.SecretName != "", at, "name the Secret")}
	for _, own := range args.ownSecrets() {
		problems = append(problems, require(credentials.SecretName != own.name, at,
			fmt.Sprintf("%q is the name of the Secret of %s: give another one", own.name, own.argument)))
	}
	return errors.Join(problems...)
}
