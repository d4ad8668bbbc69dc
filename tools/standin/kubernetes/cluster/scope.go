package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// clusterWide are Kubernetes' own kinds without a namespace. The list is needed if the cluster cannot be asked.
var clusterWide = []string{
	"Namespace", "Node", "PersistentVolume",
	"APIService.apiregistration.k8s.io",
	"CertificateSigningRequest.certificates.k8s.io", "ClusterTrustBundle.certificates.k8s.io",
	"ClusterRole.rbac.authorization.k8s.io", "ClusterRoleBinding.rbac.authorization.k8s.io",
	"CSIDriver.storage.k8s.io", "CSINode.storage.k8s.io", "StorageClass.storage.k8s.io",
	"VolumeAttachment.storage.k8s.io", "VolumeAttributesClass.storage.k8s.io",
	"CustomResourceDefinition.apiextensions.k8s.io",
	"DeviceClass.resource.k8s.io", "ResourceSlice.resource.k8s.io",
	"FlowSchema.flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io",
	"IngressClass.networking.k8s.io", "IPAddress.networking.k8s.io", "ServiceCIDR.networking.k8s.io",
	"MutatingAdmissionPolicy.admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io",
	"MutatingWebhookConfiguration.admissionregistration.k8s.io",
	"ValidatingAdmissionPolicy.admissionregistration.k8s.io",
	"ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io",
	"ValidatingWebhookConfiguration.admissionregistration.k8s.io",
	"PriorityClass.scheduling.k8s.io", "RuntimeClass.node.k8s.io",
	"StorageVersion.internal.apiserver.k8s.io", "StorageVersionMigration.storagemigration.k8s.io",
}

// IsNamespaced reports whether objects of a kind have a namespace. It is true for a kind that neither Kubernetes nor the cluster
// knows, as in the official provider, because its definition may still be created.
func (c *Connection) IsNamespaced(kind schema.GroupVersionKind) (bool, error) {
	if slices.Contains(clusterWide, kind.GroupKind().String()) {
		return false, nil
	}
	if c.Unreachable != "" {
		return true, nil
	}
	mapping, err := c.Mapping(kind)
	if meta.IsNoMatchError(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return mapping.Scope.Name() == meta.RESTScopeNameNamespace, nil
}
