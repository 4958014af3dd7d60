import textwrap
import time

import pytest

from kg_api.ingest.records import Incoming, to_record
from kg_api.text.programs import find_scopes

PROGRAM = {
    "py": '''
        import os

        @cached
        def top(a):
            """Wörter."""
            b = a
            return b

        class Store:
            """Keeps."""

            def put(self, item):
                """Put."""
                self.items.append(item)
                return item
        ''',
    "ts": """
        // Adds.
        export const top = (a: number): number => {
          const b = a;
          return b;
        };
        export class Store<T> {
          private items: T[] = [];

          put(item: T): void {
            this.items.push(item);
            this.changed();
          }
        }
        """,
    "java": """
        package a.b;

        class Store {
          private int n;

          /** Puts. */
          @Override
          String put(String name) {
            String s = name;
            return s;
          }
        }

        record top(int a, int b) {
          void hello() {
            System.out.println("größer");
          }
        }
        """,
    "go": """
        package main

        // Store keeps.
        type Store struct {
            name string
            port int
        }

        func (s *Store) put(a int) error {
            fmt.Println("größer")
            return nil
        }

        func top() {
            s := 1
            t := 2
        }
        """,
    "rs": """
        use std::io;

        impl Store {
            /// Puts.
            #[inline]
            pub fn put(&self) -> Self {
                let p = "größer";
                p
            }
        }

        pub fn top() {
            let a = 1;
            let b = 2;
        }
        """,
    "c": """
        #include <stdio.h>

        /* Keeps
         * much. */
        struct Store {
            int x;
            int y;
        };

        static int *put(int a)
        {
            return &a;
        }

        int top(void) {
            struct stat buffer;
            return 1;
        }
        """,
    "cpp": """
        namespace kg {
        template <typename T>
        class Store {
         public:
          T put() const {
            auto v = value_;
            return v;
          }
        };
        }

        int top(const char *name, int n)
        {
          return 1;
        }
        """,
    "rb": """
        module Kg
          class Store
            def put(item)
              @items << item
              changed
            end
          end
        end

        def top
          a = 1
          b = 2
        end
        """,
    "sh": """
        set -e
        # Puts it.
        put() {
          echo a
          echo b
        }
        function top {
          echo a
          echo b
        }
        """,
}
PROGRAM.update({"tsx": PROGRAM["ts"], "js": PROGRAM["ts"], "cs": PROGRAM["cpp"]})


def sources_of(suffix: str, text: str) -> list[tuple[tuple[str, ...], str]]:
    record, _ = to_record(Incoming("notes", f"a.{suffix}", text))
    assert "".join(each.full_text for each in record.sources) == text
    return [(each.heading, each.full_text) for each in record.sources]


@pytest.mark.parametrize("suffix", PROGRAM)
def test_functions_and_methods_are_passages_under_their_names(suffix: str) -> None:
    found = sources_of(suffix, textwrap.dedent(PROGRAM[suffix]).lstrip())
    put = next(text for path, text in found if path and path[-1].endswith("put"))
    top = next(text for path, text in found if path and path[-1] == "top")
    assert "put" in put
    assert "top" in top
    assert "top" not in put
    if suffix not in {"sh", "c", "go"}:
        assert any(path[-2:] == ("Store", "put") for path, _ in found)


MARKS = {
    "py": ("@cached", "def top"),
    "ts": ("// Adds.", "top ="),
    "java": ("@Override", "String put"),
    "rs": ("/// Puts.", "pub fn put"),
    "sh": ("# Puts it.", "put()"),
    "go": ("// Store keeps.", "type Store"),
    "c": (" * much. */", "struct Store"),
    "cpp": ("template <typename T>", "class Store"),
}


@pytest.mark.parametrize("suffix", MARKS)
def test_comments_and_decorators_stay_with_their_definition(suffix: str) -> None:
    mark, name = MARKS[suffix]
    found = sources_of(suffix, textwrap.dedent(PROGRAM[suffix]).lstrip())
    assert [name in text for _, text in found if mark in text] == [True]


@pytest.mark.parametrize("text", ["", "\n\n", "x = 1\n", "def (:\n{{{\n", "\ufeff# ä\n", "\x00\x01"])
def test_code_without_definitions_has_no_scopes(text: str) -> None:
    assert [find_scopes(text, suffix) for suffix in sorted(PROGRAM)] == [[]] * len(PROGRAM)


HOSTILE = {
    "nested": "".join(f"{' ' * (at % 400)}class a{at} {{\n" for at in range(40_000)),
    "decorated": "@interface a {\n" * 40_000,
    "open": "void a(\n" * 40_000,
    "long": "a " * 500_000 + "(",
    "words": ("a " * 240 + "(\n") * 2_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_program_ends_in_seconds(name: str) -> None:
    begun = time.process_time()
    find_scopes(HOSTILE[name], "java")
    assert time.process_time() - begun < 5
