package flights

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:embed data/*.csv.gz testdata/answers.json
var files embed.FS

// bundled are the data that come with the package, by the names that Open takes.
var bundled = map[string]string{"month": "flights-2013-01.csv.gz", "full": "flights-2013.csv.gz"}

// Open returns the flights of January ("month"), of the whole year ("full"), or
// of a file with the columns that data/README.md describes (.csv or .csv.gz), in
// the order in which they departed.
func Open(data string) ([]Flight, error) {
	var raw []byte
	var err error
	name := data
	if file, ok := bundled[data]; ok {
		name = file
		raw, err = files.ReadFile("data/" + file)
	} else {
		raw, err = os.ReadFile(data)
	}
	if err != nil {
		return nil, fmt.Errorf("flights to load: %w (there are also \"month\" and \"full\")", err)
	}
	var r io.Reader = bytes.NewReader(raw)
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(r); err != nil {
			return nil, fmt.Errorf("flights in %s: %w", name, err)
		}
	}
	list, err := Read(r)
	if err != nil {
		return nil, fmt.Errorf("flights in %s: %w", name, err)
	}
	return list, nil
}

// Read reads flights as CSV with a line of column names, and returns those that
// departed, ordered by departure and, where that is equal, by line.
func Read(r io.Reader) ([]Flight, error) {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("no line of column names: %w", err)
	}
	column := map[string]int{}
	for i, name := range head {
		column[name] = i
	}
	for _, name := range []string{"time_hour", "minute", "dep_delay", "origin", "dest", "tailnum", "carrier", "flight"} {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("no column %s", name)
		}
	}
	var list []Flight
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		at := func(name string) string { return row[column[name]] }
		if at("dep_delay") == "NA" {
			continue // it never departed
		}
		f, err := flight(at)
		if err != nil {
			line, _ := c.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(a, b Flight) int { return cmp.Compare(a.Departed().Unix(), b.Departed().Unix()) })
	return list, nil
}

func flight(at func(string) string) (Flight, error) {
	hour, err1 := time.Parse(time.RFC3339, at("time_hour"))
	minute, err2 := strconv.Atoi(at("minute"))
	delay, err3 := strconv.Atoi(at("dep_delay"))
	return Flight{
		Number: at("carrier") + at("flight"), Origin: strings.Clone(at("origin")), Dest: strings.Clone(at("dest")),
		Aircraft: strings.Clone(at("tailnum")), Scheduled: hour.Add(time.Duration(minute) * time.Minute), Delay: delay,
	}, errors.Join(err1, err2, err3)
}
