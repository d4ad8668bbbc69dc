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
	// open matches values at these places, or of these names, that are no secrets: what everyone in the cluster sees of a Node, the names of what
	// is hidden, keys of other kinds, paths of key files, and where registries are.
	open = regexp.MustCompile(`^machine\.(nodeLabels|nodeTaints|nodeAnnotations)\.|[tT]aints\[\d+\]\.key$|\.topologyKey$|` +
		`\.extraArgs\.[a-z-]+-client-key(\[\d+\])?$|^machine\.registries\.mirrors\..+\.(endpoints\[\d+\]|overridePath|skipFallback)$|` +
		`^machine\.files\[\d+\]\.(path|permissions|op)$|^cluster\.inlineManifests\[\d+\]\.name$|` +
		`^ExtensionServiceConfig\b.*\.(apiVersion|kind|name|mountPath)$`)
	// within matches credentials within a URL: of its user, or as a parameter, such as the signature of a URL that grants access by itself.
	within = regexp.MustCompile(`://[^/@\s]*:[^/@\s]+@|(?i)[?&]([^=&\s]*(token|signature|secret|password)|sig)=[^&\s]`)
	// index matches the place in a list at the end of a path.
	index = regexp.MustCompile(`\[\d+\]$`)
)

// IsSecret reports whether a value of a machine configuration is not shown. Its path is one of [Values].
func IsSecret(path, value string) bool {
	switch {
	case value == "":
		return false
	case within.MatchString(value):
		return true
	case open.MatchString(path):
		return false
	}
	name := index.ReplaceAllString(path, "")
	name = name[strings.LastIndex(name, ".")+1:]
	return credential.MatchString(name) && !public.MatchString(name) || private.MatchString(path)
}
