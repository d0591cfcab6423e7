// Program iceberg_go answers requests of on_iceberg_go.py with iceberg-go: one JSON object per line in each direction.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
)

type request struct {
	Step     string
	URI      string
	Table    string
	Rows     json.RawMessage
	Version  string
	Mode     string
	ID       int64
	Metadata string
	Snapshot *int64
	Lowest   *int32
	Highest  *int32
}

var columns = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "part", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "v", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "amount", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Nullable: true},
}, nil)

// reader returns rows that are JSON objects by column.
func reader(rows json.RawMessage) (array.RecordReader, error) {
	record, _, err := array.RecordFromJSON(memory.DefaultAllocator, columns, bytes.NewReader(rows))
	if err != nil {
		return nil, err
	}
	return array.NewRecordReader(columns, []arrow.RecordBatch{record})
}

func create(ctx context.Context, from *rest.Catalog, asked request) (*table.Table, error) {
	schema := iceberg.NewSchema(0,
		iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64},
		iceberg.NestedField{ID: 2, Name: "part", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 3, Name: "v", Type: iceberg.PrimitiveTypes.String},
		iceberg.NestedField{ID: 4, Name: "amount", Type: iceberg.DecimalTypeOf(10, 2)},
	)
	properties := iceberg.Properties{"format-version": asked.Version}
	if asked.Mode != "" {
		properties["write.delete.mode"] = asked.Mode
	}
	return from.CreateTable(ctx, strings.Split(asked.Table, "."), schema, catalog.WithProperties(properties))
}

func commit(ctx context.Context, asked request) error {
	from, err := rest.NewCatalog(ctx, "served", asked.URI)
	if err != nil {
		return err
	}
	if asked.Step == "create" {
		if _, err = create(ctx, from, asked); err != nil {
			return err
		}
	}
	into, err := from.LoadTable(ctx, strings.Split(asked.Table, "."))
	if err != nil {
		return err
	}
	if asked.Step == "delete" {
		_, err = into.Delete(ctx, iceberg.EqualTo(iceberg.Reference("id"), asked.ID), nil)
		return err
	}
	rows, err := reader(asked.Rows)
	if err != nil {
		return err
	}
	switch asked.Step {
	case "update":
		filter := table.WithOverwriteFilter(iceberg.EqualTo(iceberg.Reference("id"), asked.ID))
		_, err = into.Overwrite(ctx, rows, nil, filter)
	case "overwrite":
		_, err = into.Overwrite(ctx, rows, nil)
	default:
		_, err = into.Append(ctx, rows, nil)
	}
	return err
}

func read(ctx context.Context, asked request) (json.RawMessage, error) {
	files := io.LoadFSFunc(nil, asked.Metadata)
	from, err := table.NewFromLocation(ctx, table.Identifier{"shop", "built"}, asked.Metadata, files, nil)
	if err != nil {
		return nil, err
	}
	options := []table.ScanOption{}
	if asked.Snapshot != nil {
		options = append(options, table.WithSnapshotID(*asked.Snapshot))
	}
	if asked.Lowest != nil {
		id := iceberg.Reference("id")
		lowest := iceberg.GreaterThanEqual(id, *asked.Lowest)
		options = append(options, table.WithRowFilter(iceberg.NewAnd(lowest, iceberg.LessThanEqual(id, *asked.Highest))))
	}
	found, err := from.Scan(options...).ToArrowTable(ctx)
	if err != nil {
		return nil, err
	}
	lines := bytes.Buffer{}
	batches := array.NewTableReader(found, 0)
	for batches.Next() {
		if err := array.RecordToJSON(batches.RecordBatch(), &lines); err != nil {
			return nil, err
		}
	}
	rows := strings.Split(strings.TrimSpace(lines.String()), "\n")
	return json.RawMessage("[" + strings.Join(rows, ",") + "]"), nil
}

func answer(line []byte) map[string]any {
	asked := request{}
	err := json.Unmarshal(line, &asked)
	var result json.RawMessage
	if err == nil && asked.Step == "read" {
		result, err = read(context.Background(), asked)
	} else if err == nil {
		err = commit(context.Background(), asked)
	}
	if err != nil {
		return map[string]any{"error": fmt.Sprintf("%T: %v", err, err)}
	}
	return map[string]any{"result": result}
}

func main() {
	requests := bufio.NewScanner(os.Stdin)
	answers := json.NewEncoder(os.Stdout)
	for requests.Scan() {
		if err := answers.Encode(answer(requests.Bytes())); err != nil {
			os.Exit(1)
		}
	}
}
