"""Which cases of a file's tests will run: what a fixture prepares for all of them."""


def chosen(request, parameter):
    """The values of `parameter` in those tests of this file that will run, in their order."""
    given = [
        item.callspec.params
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    return list(dict.fromkeys(each[parameter] for each in given if parameter in each))
