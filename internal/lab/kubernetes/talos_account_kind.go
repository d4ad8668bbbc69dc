package kubernetes

// talosAccountKind is the definition of accounts for the Talos API, which Talos creates if pods may have such accounts (talos
// v1.12.4, k8stemplates/crds.go, TalosServiceAccountCRDTemplate). Its status is no subresource.
const talosAccountKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: serviceaccounts.talos.dev}
spec:
  conversion: {strategy: None}
  group: talos.dev
  names:
    kind: ServiceAccount
    listKind: ServiceAccountList
    plural: serviceaccounts
    shortNames: [tsa]
    singular: serviceaccount
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              roles: {type: array, items: {type: string}}
          status:
            type: object
            properties:
              failureReason: {type: string}
`
