package explain_test

var postedTalos = map[string][]string{
	"talos-account-refused":     {`error syncing 'kube-system/talos-backup-secrets': Secret already exists and is not managed by controller: kube-system/talos-backup-secrets, requeuing`},
	"talos-account-not-allowed": {`failureReason: 'Namespace is not allowed: default'`, `failureReason: 'Roles not allowed: [os:admin]'`},
	"cluster-backup-not-taken": {
		`failed to take etcd snapshot: error reading: rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial tcp [fd00:20::11]:50000: connect: operation not permitted"`,
		`failed to get talosconfig: mkdir /.talos: permission denied`,
	},
	"cluster-backup-not-stored": {
		`failed to push encrypted snapshot: failed to upload "k3s-dev-2026-11-23T12:00:04Z.snap.age" snapshot to s3: operation error S3: PutObject, https response error StatusCode: 403, RequestID: , HostID: , api error AccessDenied: Access Denied.`,
	},
	"certificate-names": {
		`error executing bootstrap: rpc error: code = Unavailable desc = connection error: desc = "transport: authentication handshake failed: tls: failed to verify certificate: x509: certificate is valid for cp-02, cp-02.example.internal, k8s.example.internal, talos, not 192.0.2.101:50000,192.0.2.102:50000"`,
		`[talos] controller failed {"component": "controller-runtime", "controller": "k8s.NodeApplyController", "error": "error getting node: Get \"https://192.0.2.17:6443/api/v1/nodes/cp1?timeout=30s\": tls: failed to verify certificate: x509: certificate is valid for 10.202.0.1, 10.200.11.17, not 127.0.0.1"}`,
		`Error from server: error dialing backend: x509: certificate is valid for system:node:worker1, not worker1`,
	},
	"certificate-required": {`rpc error: code = Unavailable desc = connection error: desc = "error reading server preface: remote error: tls: certificate required"`},
	"handshake-slow":       {`error executing bootstrap: rpc error: code = Unavailable desc = connection error: desc = "transport: authentication handshake failed: context deadline exceeded"`},
	"no-nodes":             {"nodes are not set for the command: please use `--nodes` flag or configuration file to set the nodes to run the command against"},
	"no-endpoints":         {"Server:\nerror constructing client: failed to determine endpoints"},
	"talosconfig-empty":    {`failed to resolve configuration context: talos config file is empty`},
	"no-forwarding":        {`rpc error: code = PermissionDenied desc = no request forwarding`},
	"talos-busy": {
		`rpc error: code = FailedPrecondition desc = another installation/upgrade is already in progress`,
		`error applying new configuration: rpc error: code = FailedPrecondition desc = another apply configuration is already in progress`,
	},
	"not-installed": {
		`rpc error: code = FailedPrecondition desc = Talos is not installed`,
		`rpc error: code = FailedPrecondition desc = machine is not installed`,
	},
	"set-twice": {"1 error occurred:\n\t* .cluster.allowSchedulingOnControlPlanes is already set in v1alpha1 config"},
	"config-yaml": {
		`decode error: yaml: line 7: found character that cannot start any token`,
		`[talos] controller failed {"component": "controller-runtime", "controller": "config.AcquireController", "error": "failed to load config from STATE: decode error: yaml: line 570: could not find expected ':'"}`,
	},
	"files-outside-var": {`create operation not allowed outside of /var: "/etc/kubernetes/audit/policy.yaml"`},

	"etcd-waits": {"192.0.2.11: user: warning: [2026-07-02T08:31:08.056453978Z]: [talos] etcd is waiting to join the cluster, if this node is the first node in the cluster, please run `talosctl bootstrap` against one of the following IPs:"},
	"time-server-away": {
		`[talos] time query error with server "162.159.200.1" {"component": "controller-runtime", "controller": "time.SyncController", "error": "read udp 192.0.2.11:45124->162.159.200.1:123: i/o timeout"}`,
	},
	"no-disk-matches": {"error applying new configuration: rpc error: code = InvalidArgument desc = runtime configuration validation failed: 1 error occurred:\n        * no disks matched the expression: disk.size >= 8000000000u && disk.transport != \"\" && !disk.readonly && !disk.cdrom"},
	"no-install-disk": {"error applying new configuration: rpc error: code = InvalidArgument desc = configuration validation failed: 1 error occurred:\n        * specified install disk does not exist: \"/dev/vda\""},
	"no-system-disk": {
		`[talos] error running phase 2 in install sequence: task 1/1: failed, no system disk found`,
		`resource SystemDisks.block.talos.dev(runtime/system-disk@undefined) doesn't exist`,
	},
	"module-key": {
		`user: warning: [2023-05-04T07:37:25.959281413Z]: [talos] controller failed {"component": "controller-runtime", "controller": runtime.KernelModuleSpecController", "error": "error loading module \x5c"nvidia\x5c": load nvidia failed: key was rejected by service"}`,
		`kern:  notice: [2023-05-04T07:37:25.957686413Z]: Loading of module with unavailable key is rejected`,
		`modprobe: ERROR: could not insert 'nvidia': Key was rejected by service`,
	},
	"registry-away": {
		`failed to pull image "docker.io/autonomy/installer:latest": failed to resolve reference "docker.io/autonomy/installer:latest": failed to do request: Head https://registry-1.docker.io/v2/autonomy/installer/manifests/latest: dial tcp 54.210.105.17:443: i/o timeout`,
		`[talos] retrying error: failed to pull image "factory.talos.dev/installer/ce4c98:v1.10.3": failed to resolve reference "factory.talos.dev/installer/ce4c98:v1.10.3": failed to do request: Head "https://factory.talos.dev/v2/installer/ce4c98/manifests/v1.10.3": net/http: TLS handshake timeout`,
		`failed to copy: httpReadSeeker: failed open: failed to do request: Get "https://image-factory.example.net/docker/registry/v2/blobs/sha256/06/06b6/data": read tcp 192.0.2.27:40814->13.107.253.59:443: read: connection reset by peer`,
		`Failed to pull image "ghcr.io/siderolabs/flannel:v0.25.1": failed to do request: Head "https://ghcr.io/v2/siderolabs/flannel/manifests/v0.25.1": dial tcp: lookup ghcr.io on 192.0.2.1:53: server misbehaving`,
	},
	"registry-certificate": {`Failed to pull image "registry.example.net/app:1": rpc error: code = Unknown desc = failed to pull and unpack image "registry.example.net/app:1": failed to resolve reference "registry.example.net/app:1": failed to do request: Head "https://registry.example.net/v2/app/manifests/1": tls: failed to verify certificate: x509: certificate signed by unknown authority`},
	"registry-limit":       {`Failed to pull image "docker.io/library/centos:latest": rpc error: code = Unknown desc = failed to copy: httpReadSeeker: failed open: unexpected status code https://registry-1.docker.io/v2/library/centos/manifests/sha256:dbba: 429 Too Many Requests - Server message: toomanyrequests: You have reached your pull rate limit. You may increase the limit by authenticating and upgrading: https://www.docker.com/increase-rate-limit`},
	"local-api-away": {
		`[ 1109.336118] [talos] controller failed {"component": "controller-runtime", "controller": "k8s.NodeApplyController", "error": "1 error(s) occurred:\n\terror getting node: Get \"https://localhost:6443/api/v1/nodes/cp1?timeout=30s\": dial tcp [::1]:6443: connect: connection refused"}`,
		`[talos] kubernetes endpoint watch error {"component": "controller-runtime", "controller": "k8s.EndpointController", "error": "failed to list *v1.Endpoints: Get \"https://127.0.0.1:7445/api/v1/namespaces/default/endpoints\": dial tcp 127.0.0.1:7445: connect: connection refused"}`,
	},

	"etcd-upgrade-unhealthy": {`"10.0.64.1": rpc error: code = DeadlineExceeded desc = error validating etcd for upgrade: etcd member ac3fbb15f6a9a774 is not healthy; all members must be healthy to perform an upgrade: context deadline exceeded`},
	"etcd-leave-failed":      {"    sequence error: sequence failed: error running phase 4 in upgrade sequence: task 1/1: failed, failed to leave cluster: 1 error(s) occurred:\n    failed to remove member 5218892699632570834: etcdserver: server stopped"},
	"etcd-space":             {`user: warning: [2022-01-27T14:31:25.392352282Z]: [talos] controller failed {"component": "controller-runtime", "controller": "k8s.ManifestApplyController", "error": "error creating etcd session: etcdserver: mvcc: database space exceeded"}`},
	"etcd-cluster-id": {
		`{"level":"warn","ts":"2023-04-26T14:25:35.792Z","caller":"rafthttp/http.go:500","msg":"request cluster ID mismatch","local-member-id":"f8a38ef5f6162f3c","local-member-cluster-id":"a1dc981072a9f033"}`,
		`rafthttp: request cluster ID mismatch (got 50ff3c9548b23302 want eea12049faf24c47)`,
	},
	"etcd-removed":    {`etcdserver: the member has been permanently removed from the cluster`},
	"etcd-not-voting": {`talos-cp-1: user: warning: [2022-06-30T08:28:12.975244856Z]: [talos] service[etcd](Running): Health check failed: etcdserver: rpc not supported for learner`},
}
