"""Reports that fool: each an honest one with one thing changed, and the faults that it has then.

An edit is a path into the JSON and what stands there instead; DROP takes it away.
"""

DROP = object()
ACCURACIES = [f"entries/{place}/series/1" for place in (2, 1, 0)]
STRONG, WEAK, TARGET = "strong scaling", "weak scaling, and what it costs", (
    "time to a target, one of seven never there"
)  # fmt: skip
TUNED, ALLREDUCES = "both were searched alike", "two all-reduces in turns"
OPERATOR, MACHINES = "an operator and its error", "two machines of one time"
LARGE, SLOWER = "large inputs that are worth it", "ours is slower"
LOW = [0.93, 0.931, 0.929, 0.93, 0.932, 0.928, 0.93]
COMPUTING = ["forward", "backward", "communication", "update"]
ELSEWHERE = {
    "name": "tuned by others", "machine": "laptop", "ranks": 1, "cores": 1, "batch": 64,
    "shape": [8, 8], "searched": 0, "settings": {"rule": "LARS"}, "series": [{
        "quantity": "seconds", "of": "a training", "unit": "s", "repeated": 7,
        "values": [4.0, 4.01, 3.99, 4.02, 3.98, 4.0, 4.03], "ground": "measured",
        "deterministic": False, "includes": ["input", "forward", "backward", "update"]}],
}  # fmt: skip

FOOLING = {
    # Way 1: accuracy is ignored while one scales up.
    "no accuracy at all": (STRONG, dict.fromkeys(ACCURACIES, DROP),
                           {"throughput without accuracy"}),
    "no accuracy on many ranks": (STRONG, dict.fromkeys(ACCURACIES[:2], DROP),
                                  {"accuracy left behind"}),
    "accuracy lost in silence": (WEAK, {"claims/0/accuracy_change": DROP}, {"faster but worse"}),
    "accuracy lost, and less said": (WEAK, {"claims/0/accuracy_change": -0.01},
                                     {"faster but worse"}),
    "slower to learn": (TUNED, {"entries/0/series/1/values": LOW}, {"faster but worse"}),
    # Way 2: no test accuracy.
    "accuracy on what was learnt": (STRONG, {f"{it}/split": "training" for it in ACCURACIES},
                                    {"no test accuracy"}),
    "a target on validation data": (TARGET, {"target/split": "validation"}, {"no test accuracy"}),
    "chosen by the test": (TUNED, {"entries/0/chosen_on": "held out"},
                           {"chosen on the test data"}),
    "a loss on what was learnt": ("losses held out", {"entries/0/series/0/split": "training"},
                                  {"no test accuracy"}),
    # Way 3: the trainings that it took to get there.
    "no trials": (TUNED, {"trials": DROP}, {"missing"}),
    "only the good trials": (TUNED, {"trials/20": DROP}, {"tuning hidden"}),
    "no word about tuning": (TUNED, {"entries/0/searched": DROP}, {"missing"}),
    "the best of eight seeds": (TUNED, {
        "trials/7/settings": {"rule": "Adam"}, "trials/7/outcome": "diverged",
        "entries/0/searched": 11}, {"best of n"}),
    # Way 4: old hardware against new.
    "another machine, not said": (MACHINES, {"claims/0/baseline_is": "best known"},
                                  {"other hardware"}),
    "a machine of ten years ago": (MACHINES, {"machines/laptop/year": "2015"}, {"other hardware"}),
    "a machine without a year": (MACHINES, {"machines/desktop/year": DROP}, {"other hardware"}),
    # Way 5: kernels only.
    "the forward pass as training": (STRONG, {
        f"entries/{it}/series/0/includes": ["input", *COMPUTING[::2]] for it in range(3)},
        {"kernel only"}),
    "without what the other has": (OPERATOR, {
        "entries/0/series/0/includes": ["copy", "convolution"]}, {"kernel only"}),
    # Way 6: no input.
    "data already there": (STRONG, {
        f"entries/{it}/series/0/includes": COMPUTING for it in range(3)}, {"no input time"}),
    "answers without reading": ("the slowest answers", {
        "entries/0/series/0/includes": ["forward"]}, {"no input time"}),
    # Way 7: the highest operations a second.
    "operations as a result": ("operations beside seconds", {"entries/0/series/1": DROP},
                               {"operations instead of results"}),
    "half precision in silence": ("half precision, with its error", {"entries/1/series/1": DROP},
                                  {"operations instead of results"}),
    "operations of what?": ("operations beside seconds", {"entries/0/series/0/counted": DROP},
                            {"missing"}),
    # Way 8: fast with these switches, accurate with those.
    "one run fast, one accurate": (SLOWER, {
        "entries/0/series/1": DROP, "claims/0/number": 1.5,
        "entries/0/series/0/values": [4.0, 4.01, 3.99, 4.02, 3.98, 4.0, 4.0]},
        {"other settings for accuracy"}),
    "kept with other settings": (TUNED, {"trials/0/settings": {"rule": "SGD"}},
                                 {"other settings for accuracy", "tuning hidden"}),
    # Way 9: inputs larger than the task.
    "larger inputs for nothing": (LARGE, {"entries/0/series/1/values": [0.955, 0.956, 0.954, 0.955,
                                          0.955, 0.953, 0.957]}, {"unreasonably large inputs"}),
    "larger inputs, nothing beside": (LARGE, {"entries/1/series/1": DROP},
                                      {"unreasonably large inputs"}),
    # Way 10: stopped at the right time.
    "the target came after": (TARGET, {"target/fixed": "after"}, {"stopped at the right time"}),
    "the best moment": (STRONG, {f"{it}/taken": "best on the way" for it in ACCURACIES},
                        {"stopped at the right time"}),
    "mostly never there": (TARGET, {"entries/1/series/0/values": [5.0, 5.1, 4.9] + ["never"] * 4},
                           {"target not reached"}),
    # Way 11: mini-batches and scaling.
    "weak sold as strong": (WEAK, {"claims/0/scaling": "strong"}, {"weak scaling sold as strong"}),
    "what kind of scaling?": (STRONG, {"claims/0/scaling": DROP},
                              {"missing", "single-core baseline"}),
    "four times the batch": (TUNED, {"entries/0/batch": 256}, {"other batch size"}),
    "weak, but more for each": (WEAK, {"entries/2/batch": 512}, {"other batch size"}),
    # Way 12: with whom one compares.
    "against one core": (SLOWER, {"entries/0/cores": 4, "claims/0/number": 0.6},
                         {"single-core baseline"}),
    "against the second best": (TUNED, {
        "entries/2": ELSEWHERE, **{f"trials/{38 + it}": {
            "entry": "tuned by others", "seed": it, "settings": {"rule": "LARS"},
            "outcome": "kept"} for it in range(7)}}, {"poor baseline"}),
    "nobody tuned the other": (TUNED, {"entries/1/searched": 2, **dict.fromkeys(
        [f"trials/{it}" for it in range(37, 27, -1)], DROP)}, {"poor baseline"}),
    # Rules of 2015.
    "one repetition": (ALLREDUCES, {"entries/0/series/0/values": [0.004],
                                    "entries/0/series/0/repeated": 1,
                                    "claims/0/summary": "medians"}, {"no interval"}),
    "five, and sure of it": (OPERATOR, {
        "entries/1/series/0/values": [0.011, 0.0111, 0.0109, 0.011, 0.0112],
        "entries/1/series/0/repeated": 5}, {"no interval"}),
    "a clock without chance": (OPERATOR, {
        "entries/1/series/0/values": [0.011], "entries/1/series/0/repeated": 1,
        "entries/1/series/0/deterministic": True}, {"no interval"}),
    "a coin's confidence": (OPERATOR, {"entries/1/series/0/confidence": 0.5}, {"no interval"}),
    "the best of each": (OPERATOR, {"claims/0/summary": "best"}, {"best of n"}),
    "the best, called medians": (OPERATOR, {"entries/1/series/0/values": [0.008, 0.0111, 0.0109,
                                 0.011, 0.0112, 0.0108, 0.0111], "claims/0/number": 2.47},
                                 {"best of n"}),
    "outliers left out": ("outliers stay", {"entries/0/series/0/repeated": 25}, {"best of n"}),
    "the fastest rank": (ALLREDUCES, {"entries/0/series/0/over_ranks": "fastest"},
                         {"best of n"}),
    "more than was measured": (STRONG, {"claims/0/number": 3.9}, {"more than measured"}),
    "a time nobody measured": ("outliers stay", {"claims/0/number": 0.008},
                               {"more than measured"}),
    "within the noise": (ALLREDUCES, {"entries/0/series/0/values": [
        0.0049, 0.0051] * 10 + [0.00501], "claims/0/number": 1.02}, {"within the noise"}),
    "ratios averaged": (ALLREDUCES, {"claims/0/summary": "mean of ratios"},
                        {"mean of rates or ratios"}),
    "rates averaged": ("operations beside seconds", {"claims/0/summary": "means"},
                       {"mean of rates or ratios"}),
    "a mean with outliers": ("outliers stay", {
        "claims/0/summary": "means", "claims/0/number": 0.05}, {"mean drawn by outliers"}),
    "simulated beside measured": (ALLREDUCES, {"entries/0/series/0/ground": "simulated"},
                                  {"unlike grounds"}),
    "changed code": (STRONG, {"made/code": "4be0f1a2c3d4+changes"}, {"not repeatable"}),
    "a baseline that is not there": (OPERATOR, {"claims/0/baseline": "theirs"}, {"unclear"}),
    "milliseconds as seconds": (OPERATOR, {"entries/1/series/0/unit": "ms"}, {"unclear"}),
    "nobody knows where": (OPERATOR, {"machines": {}}, {"unclear"}),
}  # fmt: skip
