package cosi

import (
	"context"
	"fmt"
	"strings"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/cosi-project/runtime/pkg/resource/meta"
	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/cosi-project/runtime/pkg/state"
	"github.com/siderolabs/talos/pkg/grpc/middleware/authz"
	"github.com/siderolabs/talos/pkg/machinery/role"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Restricted returns st as the Talos API shows it: read-only, known types and namespaces only, and sensitive resources for
// admins only. Rules and texts are those of Talos v1.12 internal/app/resources.
func Restricted(st state.State) state.State {
	return state.WrapCore(state.Filter(st, func(ctx context.Context, access state.Access) error {
		if !access.Verb.Readonly() {
			return status.Error(codes.PermissionDenied, "write access is not allowed")
		}

		if err := allowType(ctx, st, access.ResourceType); err != nil {
			return err
		}

		return allowNamespace(ctx, st, access.ResourceNamespace)
	}))
}

func allowType(ctx context.Context, st state.State, typ resource.Type) error {
	id := resource.NewMetadata(meta.NamespaceName, meta.ResourceDefinitionType, strings.ToLower(typ), resource.VersionUndefined)

	definition, err := safe.StateGet[*meta.ResourceDefinition](ctx, st, id)
	if state.IsNotFoundError(err) {
		return status.Errorf(codes.PermissionDenied, "resource type %q is not supported", typ)
	}

	if err != nil {
		return fmt.Errorf("look up the definition of %s: %w", typ, err)
	}

	if definition.TypedSpec().Sensitivity == meta.Sensitive && !authz.HasRole(ctx, role.Admin) {
		return authz.ErrNotAuthorized
	}

	return nil
}

func allowNamespace(ctx context.Context, st state.State, ns resource.Namespace) error {
	_, err := st.Get(ctx, resource.NewMetadata(meta.NamespaceName, meta.NamespaceType, ns, resource.VersionUndefined))
	if state.IsNotFoundError(err) {
		return status.Errorf(codes.PermissionDenied, "namespace %q is not supported", ns)
	}

	if err != nil {
		return fmt.Errorf("look up namespace %s: %w", ns, err)
	}

	return nil
}
