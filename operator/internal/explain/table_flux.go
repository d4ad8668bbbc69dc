package explain

// deliveries contains the errors of Flux about its source, its keys and what it applies.
var deliveries = []row{
	{
		name: "sops-no-key", speaker: flux, source: "getsops/sops; fluxcd/flux2#5154, getsops/sops#1084",
		pattern: saying(`(?i)failed to get the data key required to decrypt the SOPS file`),
		meaning: "whoever decrypts has none of the keys that the file is encrypted for",
		do:      "in Flux: give addons.flux.decryption the age key that the file names and the Kustomization decryption.secretRef sops-age; here: export SOPS_AGE_KEY_FILE=FILE; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "sops-not-configured", speaker: flux, source: "kustomize-controller; fluxcd/flux2#4982",
		pattern: saying(`is SOPS encrypted, configuring decryption is required`),
		meaning: "the repository has an encrypted Secret, and the Kustomization that applies it has no decryption",
		do:      "add addons.flux.decryption to cluster.yaml; to a Kustomization of your own add decryption: provider sops, secretRef sops-age; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "flux-path", speaker: flux, source: "kustomize-controller; fluxcd/flux2#2245, fluxcd/flux2#1303",
		pattern: saying(`kustomization path not found: stat (?P<path>\S+?): no such file`),
		meaning: "the repository has no such folder in the branch that Flux follows: {path}",
		do:      "correct addons.flux.kustomization.path, or push that folder to the branch of gitRepository; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "git-host-key", speaker: flux, source: "golang.org/x/crypto/ssh/knownhosts; fluxcd/flux2#3774, fluxcd/flux2#2098",
		pattern: saying(`knownhosts: key (?:mismatch|is unknown)`),
		meaning: "the Git server shows another host key than git.knownHosts has",
		do:      "compare ssh-keyscan SERVER with what the server's owner publishes, put that into git.knownHosts of secrets.sops.yaml, then " + upAgain,
		safe:    "no, before you have compared: another key may be another server in between",
	},
	{
		name: "git-key-refused", speaker: flux, source: "golang.org/x/crypto/ssh; fluxcd/source-controller#652, fluxcd/flux2#2847",
		pattern: saying(`ssh: unable to authenticate, attempted methods \[none publickey\]`),
		meaning: "the Git server does not take the key of git.identity",
		do:      "add its public half as a deploy key of the repository (ssh-keygen -y -f FILE prints it), then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "git-away", speaker: flux, source: "golang.org/x/crypto/ssh; fluxcd/source-controller#1992",
		pattern: saying(`ssh: handshake failed: read tcp [^\n]*(?:connection timed out|connection reset by peer|i/o timeout)`),
		meaning: "the Git server is not reached on port 22 from inside the cluster: a firewall, or packets too large for a network between",
		do:      "open TCP 22, compare network.mtu with the bridge's, or use an https:// url in addons.flux.gitRepository; then " + upAgain,
		safe:    notTouched,
	},
	{
		name: "flux-dependency", speaker: flux, source: "kustomize-controller, helm-controller; fluxcd/flux2#1193",
		pattern: saying(`dependency '(?P<dependency>[^']+)' is not ready`),
		meaning: "it waits for {dependency}, which is not ready itself",
		do:      "flux get all -A shows {dependency} with its own error: mend that one; Flux goes on by itself",
		safe:    goesOn,
	},
	{
		name: "flux-retries", speaker: flux, source: "helm-controller; fluxcd/helm-controller#289, fluxcd/helm-controller#464",
		pattern: saying(`(?P<what>install|upgrade) retries exhausted`),
		meaning: "Flux has tried the {what} of a HelmRelease as often as it may, and stopped",
		do:      "flux logs --kind=HelmRelease and kubectl describe helmrelease say why; mend that, then flux reconcile helmrelease NAME -n NAMESPACE --force",
		safe:    goesOn,
	},
}
