package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// A checker says which mutants compile, without compiling them.
type checker struct {
	fset     *token.FileSet
	importer types.Importer
	packages map[string]map[string]*ast.File // directory, file
}

// newChecker reads the packages in some directories of a module.
func newChecker(ctx context.Context, root string, dirs []string) (*checker, error) {
	args := []string{"list", "-export", "-deps", "-json=Export,ImportPath"}
	for _, dir := range dirs {
		args = append(args, "./"+dir)
	}
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Stderr = root, os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("go %v: %w", args, err)
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
	k := &checker{fset: token.NewFileSet(), packages: map[string]map[string]*ast.File{}}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	k.importer = importer.ForCompiler(k.fset, "gc", open)
	for _, dir := range dirs {
		k.packages[dir] = map[string]*ast.File{}
		paths, err := sources(root, dir)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			f, err := parser.ParseFile(k.fset, filepath.Join(root, path), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			k.packages[dir][path] = f
		}
	}
	return k, nil
}

// compiles reports whether the package of a file compiles when the file has the
// given source.
func (k *checker) compiles(file string, src []byte) bool {
	changed, err := parser.ParseFile(k.fset, file, src, parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	files := []*ast.File{changed}
	for path, f := range k.packages[dirOf(file)] {
		if path != file {
			files = append(files, f)
		}
	}
	_, err = (&types.Config{Importer: k.importer}).Check("mutated", k.fset, files, nil)
	return err == nil
}
