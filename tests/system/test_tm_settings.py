"""Settings of librubato_itm that are not understood: one sentence, and refused by `rubato tm run` (T50)."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from rubato.errors import UsageError
from rubato.tm import settings
from rubato.tm.methods import METHODS

#: Of one program, which would wait for ever.
LAST_RESORT_SECONDS = 300

#: Variable, a value that is right, two that are not, and what is said to be expected.
SETTINGS = [
    ("RUBATO_ITM_ORECS", "1024", ["1000", "8388608"], "a power of two from 1024 to 4194304"),
    ("RUBATO_ITM_STRIPE", "256", ["8", "48"], "a power of two from 16 to 256"),
    ("RUBATO_ITM_CLOCK", "deferred", ["later", "0"], "counter or deferred"),
    ("RUBATO_ITM_PRIVATIZATION", "values", ["value", "no"], "quiesce or values"),
    ("RUBATO_ITM_MANAGER", "serialize:7", ["serialize:0", "serialize:1000001", "backoff:3"],
     "none, backoff, hourglass[:N] or serialize[:N]"),
    ("RUBATO_ITM_METHOD", "lazy", ["tl2", "adaptive:x"], f"{', '.join(METHODS[:-1])} or {METHODS[-1]}"),
]  # fmt: skip


@pytest.fixture(scope="module")
def program(itm: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    file = tmp_path_factory.mktemp("settings") / "program"
    source = "long x; int main() { for (int i = 0; i < 10; ++i) __transaction_atomic { ++x; } return x != 10; }"
    subprocess.run(["g++", "-fgnu-tm", "-xc++", "-", "-o", file], input=source, text=True, check=True)
    return ["env", f"LD_PRELOAD={itm}/libitm.so.1", str(file)]


def said(program: list[str], **variables: str) -> str:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "RUBATO_ITM", "ITM_"))}
    return subprocess.run(program, env=kept | variables, capture_output=True, text=True, check=True).stderr


@pytest.mark.parametrize(("name", "right", "wrong", "expected"), SETTINGS)
def test_a_wrong_value_is_one_sentence_and_the_default(
    name: str, right: str, wrong: list[str], expected: str, program: list[str]
) -> None:
    method = {} if name == "RUBATO_ITM_METHOD" else {"RUBATO_ITM_METHOD": "eager"}
    assert said(program, **method, **{name: right}) == ""
    settings.refuse_wrong({name: right})
    for value in wrong:
        sentence = f"librubato_itm: {name} is '{value}', expected {expected}; it is ignored\n"
        assert said(program, **method, **{name: value}) == sentence
        with pytest.raises(UsageError, match=f"{name} is '{value}', expected"):
            settings.refuse_wrong({name: value})


def test_a_misspelt_name_is_one_sentence(program: list[str]) -> None:
    sentence = (
        "RUBATO_ITM_METOD is no setting; there are RUBATO_ITM_METHOD, _MANAGER, _PRIVATIZATION, _ORECS, _STRIPE,"
        " _CLOCK, _STATS, _PROFILE and _STACKS"
    )
    assert said(program, RUBATO_ITM_METOD="eager") == f"librubato_itm: {sentence}\n"
    assert said(program, RUBATO_ITM_METHOD="eager", RUBATO_ITMS="1") == ""
    with pytest.raises(UsageError, match="RUBATO_ITM_METOD is no setting"):
        settings.refuse_wrong({"RUBATO_ITM_METOD": "eager"})


FIRST_TRANSACTION_OF_A_CANCELLED_THREAD = """
#include <pthread.h>
static long x;
static void* run(void*) {
  pthread_cancel(pthread_self());
  __transaction_atomic { ++x; }
  pthread_testcancel();
  return nullptr;
}
int main() {
  pthread_t thread;
  void* result = nullptr;
  pthread_create(&thread, nullptr, run, nullptr);
  pthread_join(thread, &result);
  __transaction_atomic { ++x; }
  return x == 2 && result == PTHREAD_CANCELED ? 0 : 1;
}
"""


@pytest.mark.parametrize("variables", [{"RUBATO_ITM_METHOD": "tl2"}, {"RUBATO_ITM_PROFILE": "tm.profile"}])
def test_a_sentence_or_profile_is_no_cancellation_point(
    variables: dict[str, str], itm: Path, tmp_path: Path
) -> None:
    """What a thread's first transaction writes and opens, while it holds the library's locks."""
    program = tmp_path / "program"
    subprocess.run(["g++", "-fgnu-tm", "-xc++", "-", "-o", program, "-pthread"], text=True, check=True,
                   input=FIRST_TRANSACTION_OF_A_CANCELLED_THREAD)  # fmt: skip
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("LD_", "RUBATO_ITM", "ITM_"))}
    environment = kept | variables | {"LD_PRELOAD": str(itm / "libitm.so.1")}
    done = subprocess.run([program], env=environment, cwd=tmp_path, timeout=LAST_RESORT_SECONDS, check=False)
    assert done.returncode == 0
