package machineconfig

import (
	"regexp"
	"strings"
)

// What of a machine configuration, or of a patch of one, is not shown. Talos' own code redacts what its generator makes and what some
// documents hold (config.SecretDocument), but neither the passphrases of encrypted volumes nor the keys of the main document's
// WireGuard, and it cannot know which values are its users' secrets.
var (
	// credential matches the names of values that are secret wherever they stand.
	credential = regexp.MustCompile(`(?i)(passphrase|password|passwd|secret|token|key|^auth)$`)
	// public matches those of the names that are none: a peer's half of a key, and a number in the protocol of bonds.
	public = regexp.MustCompile(`(?i)(publicKey|adUserPortKey)$`)
	// private matches the places whose values may be secrets of users, whatever they are called: contents of files and manifests,
	// environments, and what registries are asked with.
	private = regexp.MustCompile(`^(machine\.(files|env|pods|registries|kubelet\.credentialProviderConfig)|` +
		`cluster\.(inlineManifests|extraManifestHeaders|(apiServer|controllerManager|scheduler)\.env)|ExtensionServiceConfig)\b`)
	// open matches what is none in spite of that: what everybody in the cluster sees of a Node, and the names of what is hidden.
	open = regexp.MustCompile(`^machine\.(nodeLabels|nodeTaints)\.|[tT]aints\[\d+\]\.key$|` +
		`^machine\.files\[\d+\]\.(path|permissions|op)$|^cluster\.inlineManifests\[\d+\]\.name$|` +
		`^ExtensionServiceConfig\b.*\.(apiVersion|kind|name|mountPath)$`)
	// within matches credentials within a URL: of its user, or as a parameter.
	within = regexp.MustCompile(`://[^/@\s]*:[^/@\s]+@|(?i)[?&][^=&\s]*token=[^&\s]`)
	// index matches the place in a list at the end of a path.
	index = regexp.MustCompile(`\[\d+\]$`)
)

// IsSecret reports whether a value of a machine configuration is not shown. Its path is one of [Values].
func IsSecret(path, value string) bool {
	if value == "" || open.MatchString(path) {
		return false
	}
	name := index.ReplaceAllString(path, "")
	name = name[strings.LastIndex(name, ".")+1:]
	return credential.MatchString(name) && !public.MatchString(name) || private.MatchString(path) || within.MatchString(value)
}
