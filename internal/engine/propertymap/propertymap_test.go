package propertymap_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine/propertymap"
)

func TestValues(t *testing.T) {
	t.Parallel()
	properties := map[string]any{"vmId": 102.0, "name": "w-1", "disks": []any{map[string]any{"size": 20.0}}, "secret": sealed(`"text"`), "number": sealed(`1`)}
	require.Equal(t, 20.0, propertymap.At(properties, "disks[0].size"))
	require.Nil(t, propertymap.At(properties, "disks[1].size"))
	require.Nil(t, propertymap.At(properties, "name.inner"))
	require.Nil(t, propertymap.At(nil, "name"))
	require.Equal(t, "w-1", propertymap.Text(properties, "name"))
	require.Empty(t, propertymap.Text(properties, "vmId"))

	vmid, isNumber := propertymap.Int(properties, "vmId")
	require.Equal(t, 102, vmid)
	require.True(t, isNumber)
	_, isNumber = propertymap.Int(properties, "name")
	require.False(t, isNumber)
}

func TestPlainText(t *testing.T) {
	t.Parallel()
	properties := map[string]any{"plain": "text", "secret": sealed(`"text"`), "number": sealed(`1`), "encrypted": sealed(nil)}
	for _, test := range []struct {
		path, want string
		isText     bool
		err        error
	}{
		{"plain", "text", true, nil},
		{"secret", "text", true, nil},
		{"number", "", false, nil},
		{"missing", "", false, nil},
		{"encrypted", "", false, propertymap.ErrSealed},
	} {
		t.Run(test.path, func(t *testing.T) {
			t.Parallel()
			text, isText, err := propertymap.PlainText(properties, test.path)
			require.Equal(t, test.err, err)
			require.Equal(t, test.want, text)
			require.Equal(t, test.isText, isText)
		})
	}
}
