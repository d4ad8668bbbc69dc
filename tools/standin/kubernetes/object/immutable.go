package object

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
)

// replaceOn are the properties of Kubernetes' own kinds whose change replaces an object (provider/pkg/provider/diff.go). The data
// of Secrets and ConfigMaps is added to them.
var replaceOn = map[string][]string{
	"DaemonSet.apps":  {"spec.selector"},
	"Deployment.apps": {"spec.selector"},
	"StatefulSet.apps": {
		"spec.podManagementPolicy", "spec.revisionHistoryLimit", "spec.selector", "spec.serviceName",
		"spec.volumeClaimTemplates",
	},
	"Job.batch": {"spec.completions", "spec.parallelism", "spec.selector", "spec.template"},
	"PersistentVolume": {
		"spec.awsElasticBlockStore", "spec.azureDisk", "spec.azureFile", "spec.cephfs", "spec.cinder", "spec.csi",
		"spec.fc", "spec.flexVolume", "spec.flocker", "spec.gcePersistentDisk", "spec.glusterfs", "spec.hostPath",
		"spec.iscsi", "spec.local", "spec.nfs", "spec.photonPersistentDisk", "spec.portworxVolume", "spec.quobyte",
		"spec.rbd", "spec.scaleIO", "spec.storageos", "spec.vsphereVolume",
	},
	"PersistentVolumeClaim": {"spec.accessModes", "spec.selector", "spec.storageClassName", "spec.volumeName"},
	"Pod": append([]string{
		"spec.affinity", "spec.automountServiceAccountToken", "spec.dnsConfig", "spec.dnsPolicy",
		"spec.enableServiceLinks", "spec.hostAliases", "spec.hostIPC", "spec.hostNetwork", "spec.hostPID",
		"spec.hostname", "spec.imagePullSecrets", "spec.nodeName", "spec.nodeSelector", "spec.overhead",
		"spec.preemptionPolicy", "spec.priority", "spec.priorityClassName", "spec.readinessGates",
		"spec.restartPolicy", "spec.runtimeClassName", "spec.schedulerName", "spec.securityContext",
		"spec.serviceAccount", "spec.serviceAccountName", "spec.shareProcessNamespace", "spec.subdomain",
		"spec.terminationGracePeriodSeconds", "spec.volumes",
	}, ofContainers()...),
	"ResourceQuota": {"spec.scopes"},
	"Secret":        {"type"},
	"Service":       {"spec.clusterIP"},
	"ClusterRoleBinding.rbac.authorization.k8s.io": {"roleRef"},
	"RoleBinding.rbac.authorization.k8s.io":        {"roleRef"},
	"StorageClass.storage.k8s.io":                  {"parameters", "provisioner"},
}

func ofContainers() []string {
	var paths []string
	for _, containers := range []string{"spec.containers.*.", "spec.initContainers.*."} {
		for _, name := range []string{
			"args", "command", "env", "image", "imagePullPolicy", "lifecycle", "livenessProbe", "ports", "readinessProbe",
			"resources", "securityContext", "stdin", "stdinOnce", "terminationMessagePath", "terminationMessagePolicy",
			"tty", "volumeDevices", "volumeMounts", "workingDir",
		} {
			paths = append(paths, containers+name)
		}
	}
	return paths
}

// replaceOnOf returns the paths whose change replaces an object.
func (o *Objects) replaceOnOf(inputs *unstructured.Unstructured) []resource.PropertyPath {
	kind := inputs.GroupVersionKind()
	names := append([]string{"metadata.name", "metadata.namespace"}, replaceOn[kind.GroupKind().String()]...)
	immutable, _, _ := unstructured.NestedBool(inputs.Object, "immutable") // false if unknown, or no boolean
	settings := o.connection.Settings
	switch {
	case isSecret(kind) && (immutable || !cluster.On(settings.EnableSecretMutable)):
		names = append(names, "stringData", "data")
	case isConfigMap(kind) && (immutable || !cluster.On(settings.EnableConfigMapMutable)):
		names = append(names, "binaryData", "data")
	}
	var paths []resource.PropertyPath
	for _, name := range names {
		var path resource.PropertyPath
		for part := range strings.SplitSeq(name, ".") {
			path = append(path, part)
		}
		paths = append(paths, path)
	}
	return paths
}
